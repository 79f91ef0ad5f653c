#include "sim/record/run_lock.h"

#include "aggregation/base/error.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>

namespace fedhive::sim {

namespace {

/// What the holder wrote.
std::string read_holder(int descriptor) {
    std::array<char, 32> text{};
    const ssize_t size = pread(descriptor, text.data(), text.size(), 0);
    const std::string holder(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    return holder.substr(0, holder.find('\n'));
}

/// The file may have been removed, or removed and made again, between our opening it and our locking it: then the lock is on a file that
/// nobody else will ever open.
bool is_still_at(int descriptor, const std::filesystem::path& file) {
    struct stat opened {};
    struct stat present {};
    return fstat(descriptor, &opened) == 0 && stat(file.c_str(), &present) == 0 && opened.st_dev == present.st_dev &&
           opened.st_ino == present.st_ino;
}

/// An open and locked descriptor.
int lock_file(const std::filesystem::path& folder) {
    const std::filesystem::path file = folder / RunLock::kName;
    for (;;) {
        const int descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        if (descriptor < 0) throw ConfigError(fmt::format("{}: cannot be written: {}", folder.string(), std::strerror(errno)));
        const bool taken = flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        if (taken && is_still_at(descriptor, file)) {
            const std::string holder = read_holder(descriptor);
            close(descriptor);
            const std::string process =
                holder.empty() ? "" : fmt::format(" (process {}), or stop it with: kill -INT {}", holder, holder);
            throw ConfigError(fmt::format("{}: a run is going on in it; wait for its end{}", folder.string(), process));
        }
        // Some network file systems have no locks: there, nobody can be asked, and the run goes on.
        if (!taken && is_still_at(descriptor, file)) return descriptor;
        close(descriptor);
    }
}

}  // namespace

RunLock::RunLock(const std::filesystem::path& folder) : folder_(folder), descriptor_(lock_file(folder)) {
    // Only a message depends on it, so a full disk is no reason not to hold the lock.
    const std::string holder = std::to_string(getpid()) + "\n";
    [[maybe_unused]] const bool named =
        ftruncate(descriptor_, 0) == 0 && pwrite(descriptor_, holder.data(), holder.size(), 0) > 0;
}

RunLock::~RunLock() {
    if (descriptor_ < 0) return;
    // Before the lock goes: afterwards the file could be another process's.
    unlink((folder_ / kName).c_str());
    close(descriptor_);
}

RunLock::RunLock(RunLock&& other) noexcept
    : folder_(std::move(other.folder_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

}  // namespace fedhive::sim
