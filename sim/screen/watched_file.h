// Files that another process writes, polled for changes and additions. Nothing here throws for a file that is missing, half
// written or replaced.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::sim {

/// A file that is always replaced as a whole.
class WatchedFile {
public:
    explicit WatchedFile(std::filesystem::path file) : file_(std::move(file)) {}

    /// Its content if it has changed since the last call; empty if unchanged or missing.
    std::optional<std::string> if_changed();

    /// When it was last written, seconds since 1970; 0: never seen.
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

/// A table that grows by whole lines; a resume cuts it and then appends again.
class GrowingTable {
public:
    explicit GrowingTable(std::filesystem::path file) : file_(std::move(file)) {}

    /// Lines added since the last call, the head included. anew: lines returned before are void.
    struct Added {
        bool anew = false;
        std::vector<std::string> lines;
    };
    Added read();

    /// Bytes of an unfinished last line.
    std::size_t unfinished_bytes() const { return unfinished_; }

    /// As WatchedFile::written_s().
    double written_s() const { return written_s_; }

private:
    std::filesystem::path file_;
    std::uint64_t offset_ = 0;  // of the first byte not yet returned
    std::string last_line_;     // the line before it, to detect a cut
    std::size_t unfinished_ = 0;
    double written_s_ = 0.0;
};

/// The process of this machine that holds the folder's lock (run_lock.h), from the kernel's list. Trying the lock instead could
/// make a run fail that starts at that moment.
struct LockHolder {
    pid_t pid = 0;         // 0: none
    double since_s = 0.0;  // since 1970
};
LockHolder lock_holder(const std::filesystem::path& folder);

/// Seconds since 1970.
double time_s();

}  // namespace fedhive::sim
