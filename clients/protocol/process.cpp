#include "clients/protocol/process.h"

#include "aggregation/base/error.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace fedhive::clients {

namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    result.reserve(texts.size() + 1);
    for (std::string& text : texts) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

std::vector<std::string> merged_environment(const std::vector<std::pair<std::string, std::string>>& changes) {
    std::vector<std::string> result;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string text = *entry;
        const std::string key = text.substr(0, text.find('='));
        if (std::none_of(changes.begin(), changes.end(), [&](const auto& change) { return change.first == key; }))
            result.push_back(text);
    }
    for (const auto& [key, value] : changes) result.push_back(key + "=" + value);
    return result;
}

/// The two spawn structures, destroyed together.
struct SpawnSetup {
    posix_spawn_file_actions_t actions{};
    posix_spawnattr_t attributes{};

    explicit SpawnSetup(const SpawnOptions& options) {
        posix_spawn_file_actions_init(&actions);
        posix_spawnattr_init(&attributes);
        const char* log = options.log.empty() ? "/dev/null" : options.log.c_str();
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log, O_WRONLY | O_CREAT | O_APPEND, 0644);
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
        // A descriptor duplicated onto itself loses close-on-exec: it alone is inherited.
        for (const int descriptor : options.inherited) posix_spawn_file_actions_adddup2(&actions, descriptor, descriptor);
        sigset_t set;
        sigfillset(&set);
        posix_spawnattr_setsigdefault(&attributes, &set);
        sigemptyset(&set);
        posix_spawnattr_setsigmask(&attributes, &set);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    }
    ~SpawnSetup() {
        posix_spawn_file_actions_destroy(&actions);
        posix_spawnattr_destroy(&attributes);
    }
    SpawnSetup(const SpawnSetup&) = delete;
    SpawnSetup& operator=(const SpawnSetup&) = delete;
};

}  // namespace

ChildProcess::ChildProcess(const SpawnOptions& options) {
    std::vector<std::string> arguments{"fedhive"};
    arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
    std::vector<std::string> environment = merged_environment(options.environment);
    const SpawnSetup setup(options);
    const int error = posix_spawn(&pid_, options.executable.c_str(), &setup.actions, &setup.attributes,
                                  pointers(arguments).data(), pointers(environment).data());
    if (error != 0) throw Fault("cannot start " + options.executable + ": " + std::strerror(error));
    pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
    if (pidfd_ < 0) {
        const Fault fault = os_fault("pidfd_open (needs Linux 5.3 or newer)");
        ::kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        throw fault;
    }
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), pidfd_(std::exchange(other.pidfd_, -1)), end_(std::move(other.end_)) {}

ChildProcess::~ChildProcess() {
    if (pid_ < 0) return;
    if (!end_) {
        // A process in an uninterruptible wait (a driver, a network file system) dies late: it is not waited for without end.
        ::kill(pid_, SIGKILL);
        wait_for(5.0);
    }
    close(pidfd_);
}

std::optional<ChildProcess::End> ChildProcess::end() {
    int status = 0;
    if (!end_ && waitpid(pid_, &status, WNOHANG) == pid_) {
        if (WIFSIGNALED(status)) {
            const int number = WTERMSIG(status);
            const char* name = sigabbrev_np(number);  // real-time signals have none
            end_ = End{true, name == nullptr ? fmt::format("killed by signal {}", number)
                                             : fmt::format("killed by SIG{} ({})", name, sigdescr_np(number))};
        } else {
            end_ = End{false, fmt::format("exited with status {}", WEXITSTATUS(status))};
        }
    }
    return end_;
}

bool ChildProcess::wait_for(double seconds) {
    pollfd polled{pidfd_, POLLIN, 0};
    if (!end_) poll(&polled, 1, static_cast<int>(seconds * 1000.0));
    return end().has_value();
}

void ChildProcess::kill() {
    if (!end_) ::kill(pid_, SIGKILL);
}

void die_with_parent(pid_t parent) {
    signal(SIGINT, SIG_IGN);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) throw os_fault("prctl(PR_SET_PDEATHSIG)");
    // The parent may have died before the line above; then no signal will ever come.
    if (getppid() != parent) throw Fault("the coordinator has gone");
}

}  // namespace fedhive::clients
