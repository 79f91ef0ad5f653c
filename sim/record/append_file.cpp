#include "sim/record/append_file.h"

#include "aggregation/base/error.h"
#include "aggregation/base/input_file.h"
#include "sim/record/durable_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>

namespace fedhive::sim {

namespace {

std::uint32_t extended(std::uint32_t crc, std::string_view bytes) {
    return static_cast<std::uint32_t>(crc32_z(crc, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

}  // namespace

AppendFile::AppendFile(std::filesystem::path file)
    : file_(std::move(file)), descriptor_(open_own_file(file_, O_WRONLY | O_APPEND)) {
    size_ = static_cast<std::uint64_t>(lseek(descriptor_, 0, SEEK_END));
}

AppendFile::~AppendFile() { close(descriptor_); }

void AppendFile::append(std::string_view lines) {
    std::string_view rest = lines;
    while (!rest.empty()) {
        const ssize_t written = write(descriptor_, rest.data(), rest.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) {
            const Fault fault = os_fault("cannot write " + file_.string());
            // Removes the half-written line. If that fails, a resumed run cuts it off.
            [[maybe_unused]] const int cut = ftruncate(descriptor_, static_cast<off_t>(size_));
            throw fault;
        }
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
    size_ += lines.size();
    crc_ = extended(crc_, lines);
}

void AppendFile::cut(std::uint64_t size) {
    if (size != size_ && ftruncate(descriptor_, static_cast<off_t>(size)) != 0)
        throw os_fault("cannot shorten " + file_.string());
    size_ = size;
    crc_ = crc_of(file_, size);
}

void AppendFile::sync() {
    expect_whole();
    if (fdatasync(descriptor_) != 0) throw os_fault("syncing " + file_.string());
}

void AppendFile::expect_whole() const {
    struct stat written {};
    struct stat named {};
    if (fstat(descriptor_, &written) != 0) throw os_fault("cannot look at " + file_.string());
    const bool there = lstat(file_.c_str(), &named) == 0;
    if (!there || named.st_dev != written.st_dev || named.st_ino != written.st_ino)
        throw Fault(fmt::format("{}: was {} while the run wrote it; its rows are lost", file_.string(),
                                there ? "replaced by another file" : "removed"));
    if (static_cast<std::uint64_t>(written.st_size) != size_)
        throw Fault(fmt::format("{}: was changed while the run wrote it: it has {} bytes, but the run wrote {}", file_.string(),
                                written.st_size, size_));
}

std::uint32_t crc_of(const std::filesystem::path& file, std::uint64_t size) {
    InputFile input(file);
    std::string part(std::size_t{256} << 10, '\0');
    std::uint32_t crc = 0;
    while (size > 0) {
        const std::size_t wanted = std::min<std::uint64_t>(size, part.size());
        const std::size_t got = input.read(std::span(part).first(wanted));
        crc = extended(crc, std::string_view(part).substr(0, got));
        if (got < wanted) break;
        size -= got;
    }
    return crc;
}

}  // namespace fedhive::sim
