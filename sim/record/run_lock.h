// Lock of a run's folder: one process at a time writes it. The kernel holds the lock (flock), so it ends with its process in
// any case. The lock file has the process's number, for the message of another process.
#pragma once

#include <filesystem>

namespace fedhive::sim {

class RunLock {
public:
    static constexpr const char* kName = ".lock";

    /// Takes the lock of an existing folder. Waits for a killed process that is still ending. Throws ConfigError if another
    /// process holds the lock (names it), or if the folder cannot be written.
    explicit RunLock(const std::filesystem::path& folder);

    /// Removes the file.
    ~RunLock();
    RunLock(RunLock&& other) noexcept;
    RunLock& operator=(RunLock&&) = delete;

    const std::filesystem::path& folder() const { return folder_; }

private:
    std::filesystem::path folder_;
    int descriptor_ = -1;
};

}  // namespace fedhive::sim
