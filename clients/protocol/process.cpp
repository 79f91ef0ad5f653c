#include "clients/protocol/process.h"

#include "aggregation/base/error.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <span>

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

constexpr int kExecMs = 2000;

/// The data that the child needs between fork and exec. It must not allocate there, because its parent has other threads.
struct Birth {
    const char* executable;
    char* const* arguments;
    char* const* environment;
    const char* log;  // null: the parent's standard error
    std::span<const int> inherited;
    pid_t parent;
    bool on_terminal;
    bool own_group;
};

bool open_as(int descriptor, const char* file, int flags) {
    const int opened = open(file, flags, 0644);
    if (opened < 0) return false;
    if (opened == descriptor) return true;
    dup2(opened, descriptor);
    close(opened);
    return true;
}

/// Runs in the child. Returns only on failure, with errno set.
void become(const Birth& birth) {
    // Set before exec, which keeps it: loading LibTorch takes a while, and none of our code runs before that.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != birth.parent) _exit(127);
    if (birth.own_group && setpgid(0, 0) != 0) return;
    for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
    if (!birth.on_terminal && !open_as(STDIN_FILENO, "/dev/null", O_RDONLY)) return;
    if (birth.log == nullptr) {
        if (!birth.on_terminal) dup2(STDERR_FILENO, STDOUT_FILENO);
    } else {
        if (!open_as(STDOUT_FILENO, birth.log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK)) return;
        dup2(STDOUT_FILENO, STDERR_FILENO);
    }
    for (const int descriptor : birth.inherited) fcntl(descriptor, F_SETFD, 0);
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, nullptr);
    execve(birth.executable, birth.arguments, birth.environment);
}

/// Like posix_spawn, but with a parent-death signal, and with fork instead of vfork: a child that is stopped before exec would
/// block the parent of a vfork forever. Returns the child's process id, or throws.
pid_t give_birth(const Birth& birth) {
    std::array<int, 2> failure{};  // a successful exec closes it; otherwise the child writes errno into it
    if (pipe2(failure.data(), O_CLOEXEC) != 0) throw os_fault("pipe2");
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // no handler of ours may run in the child
    const pid_t pid = fork();
    if (pid == 0) {
        become(birth);
        [[maybe_unused]] const auto told = write(failure[1], &errno, sizeof errno);
        _exit(127);
    }
    int error = pid < 0 ? errno : 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    close(failure[1]);
    // A child that has not reached exec by then is watched like any other.
    pollfd polled{failure[0], POLLIN, 0};
    const bool told = pid > 0 && poll(&polled, 1, kExecMs) > 0;
    const bool failed = pid < 0 || (told && read(failure[0], &error, sizeof error) == sizeof error);
    close(failure[0]);
    if (!failed) return pid;
    if (pid > 0) waitpid(pid, nullptr, 0);
    throw Fault(fmt::format("cannot start {}: {}", birth.executable, std::strerror(error)));
}

double seconds_of(const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6; }

}  // namespace

ChildProcess::ChildProcess(const SpawnOptions& options) {
    std::vector<std::string> arguments{"fedhive"};
    arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
    std::vector<std::string> environment = merged_environment(options.environment);
    const std::string log = options.log.empty() ? "/dev/null" : options.log.string();
    pid_ = give_birth({options.executable.c_str(), pointers(arguments).data(), pointers(environment).data(),
                       options.to_stderr ? nullptr : log.c_str(), options.inherited, getpid(), options.on_terminal,
                       options.own_group});
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
        // A process in an uninterruptible wait (a driver, a network file system) dies late: the wait for it has a limit.
        ::kill(pid_, SIGKILL);
        wait_for(5.0);
    }
    close(pidfd_);
}

std::optional<ChildProcess::End> ChildProcess::end() {
    int status = 0;
    rusage usage{};
    if (!end_ && wait4(pid_, &status, WNOHANG, &usage) == pid_) {
        const double cpu_s = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
        if (WIFSIGNALED(status)) {
            const int number = WTERMSIG(status);
            const char* name = sigabbrev_np(number);  // real-time signals have none
            end_ = End{true, 0, cpu_s,
                       name == nullptr ? fmt::format("killed by signal {}", number)
                                       : fmt::format("killed by SIG{} ({})", name, sigdescr_np(number))};
        } else {
            end_ = End{false, WEXITSTATUS(status), cpu_s, fmt::format("exited with status {}", WEXITSTATUS(status))};
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

void follow_parent(pid_t parent) {
    signal(SIGINT, SIG_IGN);
    // The parent may have died before the signal was requested; then none will ever come.
    if (getppid() != parent) throw Fault("the coordinator has ended");
}

}  // namespace fedhive::clients
