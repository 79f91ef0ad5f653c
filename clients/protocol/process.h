// Worker processes: this same executable started anew (never a fork that goes on, once LibTorch, OpenMP or CUDA may be loaded), watched by
// pidfd, ended on request and reaped always.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fedhive::clients {

struct SpawnOptions {
    std::string executable = "/proc/self/exe";
    std::vector<std::string> arguments;                            // argv[1] …
    std::vector<std::pair<std::string, std::string>> environment;  // set on top of this process's own
    std::vector<int> inherited;                                    // descriptors that keep their number in the child
    std::filesystem::path log;                                     // stdout and stderr, appended; empty: /dev/null
    bool own_group = false;                                        // a terminal's Ctrl-C does not reach it
};

/// Owns a child process: destroying it kills (SIGKILL) and reaps one that still runs.
class ChildProcess {
public:
    /// Throws Fault naming the executable. The child starts with default signal handling and nothing blocked; the kernel sends it SIGKILL
    /// when the thread that called this ends.
    explicit ChildProcess(const SpawnOptions& options);
    ~ChildProcess();
    ChildProcess(ChildProcess&& other) noexcept;
    ChildProcess& operator=(ChildProcess&&) = delete;

    pid_t pid() const { return pid_; }
    int pidfd() const { return pidfd_; }

    /// "killed by SIGKILL (Killed)", "exited with status 3"; empty while it runs. Reaps.
    struct End {
        bool signalled = false;
        int exit_status = 0;  // where it was not signalled
        double cpu_s = 0.0;   // user and system time, with that of the children it waited for
        std::string text;
    };
    std::optional<End> end();

    /// True when it ended within that time.
    bool wait_for(double seconds);
    void kill();

private:
    pid_t pid_ = -1;
    int pidfd_ = -1;
    std::optional<End> end_;
};

/// Worker's first act: ignores SIGINT, which a terminal sends to the whole group. Throws Fault when the parent is already gone (is not
/// `parent`).
void follow_parent(pid_t parent);

}  // namespace fedhive::clients
