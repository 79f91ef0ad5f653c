#include "aggregation/memory/shared_segment.h"

#include "aggregation/base/error.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>

namespace fedhive::aggregation {

namespace fs = std::filesystem;
namespace ipc = boost::interprocess;

namespace {

constexpr const char* kWhat = "a shared segment";

/// The memory source interface that mapped_region requires.
struct DescriptorSource {
    int descriptor;
    ipc::mapping_handle_t get_mapping_handle() const { return {descriptor, false}; }
};

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

/// The number after `key` in lines of "key number"; with an empty key, the number at the
/// start of the file; `missing` if absent.
std::uint64_t number_in(const fs::path& file, const std::string& key, std::uint64_t missing) {
    std::ifstream stream(file);
    std::uint64_t value = 0;
    if (key.empty()) return stream >> value ? value : missing;
    for (std::string word, rest; stream >> word >> value; std::getline(stream, rest))
        if (word == key) return value;
    return missing;
}

/// File names in the folder of a memory control group.
struct CgroupFiles {
    const char* limit;
    const char* usage;
    const char* reclaimable;  // key in memory.stat: reclaimable page cache, which `usage` includes
};
constexpr CgroupFiles kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
constexpr CgroupFiles kVersion2{"memory.max", "memory.current", "inactive_file"};

std::uint64_t headroom(const fs::path& folder, const CgroupFiles& files) {
    const std::uint64_t limit = number_in(folder / files.limit, "", kUnlimited);  // "max" is no number
    if (limit == kUnlimited) return kUnlimited;
    const std::uint64_t usage = number_in(folder / files.usage, "", 0);
    const std::uint64_t used = usage - std::min(usage, number_in(folder / "memory.stat", files.reclaimable, 0));
    return limit - std::min(limit, used);
}

/// The tightest limit from the process's own group up to the root. In a container the path may name a folder that only the host
/// sees; the root of the mount is then the container's own group.
std::uint64_t cgroup_headroom(const fs::path& root) {
    std::uint64_t least = kUnlimited;
    std::ifstream groups(root / "proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {  // "4:memory:/path" or "0::/path"
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        if (!controllers.empty() && controllers != "memory") continue;
        const CgroupFiles& files = controllers.empty() ? kVersion2 : kVersion1;
        const fs::path top = root / "sys/fs/cgroup" / controllers;
        fs::path group = fs::path(line.substr(second + 1)).relative_path();
        for (; !group.empty(); group = group.parent_path()) least = std::min(least, headroom(top / group, files));
        least = std::min(least, headroom(top, files));
    }
    return least;
}

int create_memory(const std::string& name, std::size_t bytes, std::size_t length) {
    const std::uint64_t available = available_memory_bytes();
    if (bytes > available)
        throw Fault(fmt::format("segment '{}' needs {} bytes of memory, but {} bytes are available", name, bytes, available));
    const int descriptor = memfd_create(name.c_str(), MFD_CLOEXEC);
    if (descriptor < 0) throw os_fault("memfd_create");
    int error = EINTR;
    while (error == EINTR) error = posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
    if (error == 0 && length > bytes && ftruncate(descriptor, static_cast<off_t>(length)) != 0) error = errno;
    if (error != 0) {
        close(descriptor);
        throw Fault(fmt::format("segment '{}' needs {} bytes of memory, but {} bytes are available: {}", name, bytes, available,
                                std::strerror(error)));
    }
    return descriptor;
}

std::size_t checked_size(int descriptor, std::size_t least_bytes) {
    struct stat status {};
    if (fstat(descriptor, &status) != 0) throw os_fault(fmt::format("shared segment behind descriptor {}", descriptor));
    const auto bytes = static_cast<std::size_t>(std::max<off_t>(0, status.st_size));
    if (bytes < least_bytes || bytes == 0)
        throw Fault(fmt::format("the shared segment behind descriptor {} has {} bytes, at least {} are expected", descriptor,
                                bytes, least_bytes));
    return bytes;
}

}  // namespace

std::uint64_t available_memory_bytes(const fs::path& root) {
    const std::uint64_t machine_kib = number_in(root / "proc/meminfo", "MemAvailable:", kUnlimited / 1024);
    return std::min(machine_kib * 1024, cgroup_headroom(root));
}

ipc::mapped_region map_descriptor(int descriptor, std::size_t bytes, ipc::mode_t mode, const std::string& what) {
    try {
        return {DescriptorSource{descriptor}, mode, 0, bytes};
    } catch (const ipc::interprocess_exception& error) {
        throw Fault(fmt::format("cannot map {} of {} bytes: {}", what, bytes, error.what()));
    }
}

SharedSegment::SharedSegment(const std::string& name, std::size_t allocated, std::size_t bytes)
    : descriptor_(create_memory(name, std::max<std::size_t>(allocated, 1), std::max<std::size_t>(bytes, 1))) {
    try {
        region_ = map_descriptor(descriptor_, std::max<std::size_t>(bytes, 1), ipc::read_write, kWhat);
    } catch (...) {
        close(descriptor_);
        throw;
    }
}

SharedSegment::~SharedSegment() { close(descriptor_); }

SharedSegmentView::SharedSegmentView(int descriptor, std::size_t least_bytes, SegmentAccess access)
    : region_(map_descriptor(descriptor, checked_size(descriptor, least_bytes),
                             access == SegmentAccess::ReadOnly ? ipc::read_only : ipc::read_write, kWhat)) {}

void SharedSegmentView::protect(std::size_t from) const {
    if (mprotect(data() + from, size() - from, PROT_READ) != 0)
        throw Fault(fmt::format("cannot protect {} bytes of shared memory: {}", size() - from, std::strerror(errno)));
}

}  // namespace fedhive::aggregation
