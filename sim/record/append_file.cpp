#include "sim/record/append_file.h"

#include "aggregation/base/error.h"

#include <fcntl.h>
#include <unistd.h>

namespace fedhive::sim {

AppendFile::AppendFile(std::filesystem::path file)
    : file_(std::move(file)), descriptor_(open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
    if (descriptor_ < 0) throw os_fault("cannot write " + file_.string());
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
            // Half a line helps nobody; where it stays, a resumed run cuts it off.
            [[maybe_unused]] const int cut = ftruncate(descriptor_, static_cast<off_t>(size_));
            throw fault;
        }
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
    size_ += lines.size();
}

void AppendFile::cut(std::uint64_t size) {
    if (size == size_) return;
    if (ftruncate(descriptor_, static_cast<off_t>(size)) != 0) throw os_fault("cannot shorten " + file_.string());
    size_ = size;
}

void AppendFile::sync() {
    if (fdatasync(descriptor_) != 0) throw os_fault("syncing " + file_.string());
}

}  // namespace fedhive::sim
