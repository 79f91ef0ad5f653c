// Files that another process writes, looked at again and again: whether they have changed, and what was added to them. Nothing here throws
// for a file that is missing, half written or replaced.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::sim {

/// A file that is replaced as a whole.
class WatchedFile {
public:
    explicit WatchedFile(std::filesystem::path file) : file_(std::move(file)) {}

    /// Its content where that is another than at the call before; nothing where the file is as it was, or not there.
    std::optional<std::string> if_changed();

    /// When it was written last, seconds since 1970; 0: it has not been seen.
    double written_s() const { return static_cast<double>(stamp_.written_ns) * 1e-9; }

private:
    struct Stamp {
        ino_t inode = 0;
        off_t size = 0;
        std::int64_t written_ns = 0;
        bool operator==(const Stamp&) const = default;
    };

    std::filesystem::path file_;
    Stamp stamp_;
};

/// A table that grows by whole lines, and is cut back and written on when a run is resumed.
class GrowingTable {
public:
    explicit GrowingTable(std::filesystem::path file) : file_(std::move(file)) {}

    /// Lines that were added since the call before, the head among them. `anew`: lines given before do not count any more.
    struct Added {
        bool anew = false;
        std::vector<std::string> lines;
    };
    Added read();

    /// Bytes of a last line that has no end yet.
    std::size_t unfinished_bytes() const { return unfinished_; }

    /// As WatchedFile's.
    double written_s() const { return written_s_; }

private:
    std::filesystem::path file_;
    std::uint64_t offset_ = 0;  // of the first byte that was not given out
    std::string last_line_;     // before it, to see that it is still there
    std::size_t unfinished_ = 0;
    double written_s_ = 0.0;
};

/// The process that holds the lock (run_lock.h) of this folder on this machine. Reads the kernel's list: taking the lock to see whether it is
/// free could make a run fail that starts at that moment.
struct LockHolder {
    pid_t pid = 0;         // 0: nobody
    double since_s = 0.0;  // 1970
};
LockHolder lock_holder(const std::filesystem::path& folder);

/// Seconds since 1970.
double time_s();

}  // namespace fedhive::sim
