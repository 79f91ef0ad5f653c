#include "aggregation/memory/unnamed_file.h"

#include "aggregation/base/error.h"
#include "aggregation/memory/shared_segment.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace fedhive::aggregation {

namespace fs = std::filesystem;

namespace {

bool is_of_memory(const struct statfs& status) {
    constexpr auto kRamfs = 0x858458f6L;  // not defined in any header
    return status.f_type == TMPFS_MAGIC || static_cast<long>(status.f_type) == kRamfs;
}

/// Creates the file unnamed (O_TMPFILE); where the file system lacks such files, under a name that is removed at once.
int create_unnamed(const fs::path& folder) {
    const int descriptor = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return descriptor;
    std::string name = (folder / ".fedhive-states-XXXXXX").string();
    const int named = mkostemp(name.data(), O_CLOEXEC);
    if (named >= 0) unlink(name.c_str());
    return named;
}

/// Returns 0 or the error number.
int grow(int descriptor, std::size_t allocated, std::size_t bytes) {
    int error = EINTR;
    while (error == EINTR) error = posix_fallocate(descriptor, 0, static_cast<off_t>(allocated));
    if (error == 0 && ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) error = errno;
    return error;
}

}  // namespace

bool lies_in_memory(const fs::path& folder) {
    struct statfs status {};
    return statfs(folder.c_str(), &status) == 0 && is_of_memory(status);
}

bool lies_in_memory(int descriptor) {
    struct statfs status {};
    return fstatfs(descriptor, &status) == 0 && is_of_memory(status);
}

std::uint64_t free_disk_bytes(const fs::path& folder) {
    std::error_code error;
    const fs::space_info space = fs::space(folder, error);
    return error ? 0 : space.available;
}

UnnamedFile::UnnamedFile(const fs::path& folder, std::size_t allocated, std::size_t bytes)
    : descriptor_(create_unnamed(folder)) {
    if (descriptor_ < 0) throw os_fault("cannot write a file in " + folder.string());
    try {
        if (const int error = grow(descriptor_, allocated, bytes); error != 0)
            throw Fault(fmt::format("a file of {} bytes in {} cannot be made, {} bytes are free there: {}", bytes,
                                    folder.string(), free_disk_bytes(folder), std::strerror(error)));
        region_ = map_descriptor(descriptor_, bytes, boost::interprocess::read_write, "a file in " + folder.string());
    } catch (...) {
        close(descriptor_);
        throw;
    }
}

UnnamedFile::~UnnamedFile() { close(descriptor_); }

}  // namespace fedhive::aggregation
