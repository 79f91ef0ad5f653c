// Who writes a run's folder: one process at a time. The lock is the kernel's (flock), so it ends with its process, however that ends; the
// file that carries it names the process, for the message another one prints.
#pragma once

#include <filesystem>

namespace fedhive::sim {

class RunLock {
public:
    static constexpr const char* kName = ".lock";

    /// Takes the lock of an existing folder; from a process that was killed and is still about to end, as soon as it has. Throws ConfigError:
    /// another process has it (named), or the folder cannot be written.
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
