// Worker processes: new starts of this executable, watched by pidfd, ended on request and always reaped. A fork never continues
// without exec, since LibTorch, OpenMP or CUDA may be loaded.
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
    std::vector<std::pair<std::string, std::string>> environment;  // added to this process's own
    std::vector<int> inherited;                                    // descriptors that keep their number in the child
    std::filesystem::path log;                                     // stdout and stderr, appended; empty: /dev/null
    bool to_stderr = false;    // stdout and stderr are this process's stderr, and there is no log
    bool on_terminal = false;  // with to_stderr: stdin and stdout are this process's own instead
    bool own_group = false;    // a terminal's Ctrl-C does not reach it
};

/// Owns a child process: its destructor kills (SIGKILL) and reaps the child if it still runs.
class ChildProcess {
public:
    /// Throws Fault naming the executable. The child starts with default signal handling and nothing blocked; the kernel sends
    /// it SIGKILL when the thread that called this ends.
    explicit ChildProcess(const SpawnOptions& options);
    ~ChildProcess();
    ChildProcess(ChildProcess&& other) noexcept;
    ChildProcess& operator=(ChildProcess&&) = delete;

    pid_t pid() const { return pid_; }
    int pidfd() const { return pidfd_; }

    /// "killed by SIGKILL (Killed)", "exited with status 3"; empty while it runs. Reaps.
    struct End {
        bool signalled = false;
        int exit_status = 0;  // if not signalled
        double cpu_s = 0.0;   // user and system time, with that of the children it waited for
        std::string text;
    };
    std::optional<End> end();

    /// Waits up to `seconds`; true if the child has ended.
    bool wait_for(double seconds);
    void kill();

private:
    pid_t pid_ = -1;
    int pidfd_ = -1;
    std::optional<End> end_;
};

/// The first call of a worker: ignores SIGINT, which a terminal sends to the whole group. Throws Fault if
/// `parent` is no longer the parent process.
void follow_parent(pid_t parent);

}  // namespace fedhive::clients
