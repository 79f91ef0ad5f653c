#include "sim/workers/mps.h"

#include "aggregation/base/error.h"
#include "aggregation/base/input_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <sstream>

namespace fedhive::sim {

namespace fs = std::filesystem;

namespace {

constexpr const char* kProgram = "nvidia-cuda-mps-control";
constexpr const char* kFolders = "fedhive-mps-";
constexpr std::size_t kLongestFolder = 64;  // a socket's whole path is limited to 107 characters
constexpr double kDaemonStart_s = 10.0;
constexpr double kQuit_s = 15.0;

/// The control program's path; empty if no folder in PATH has it.
fs::path control_program() {
    const char* path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "" : path);
    for (std::string folder; std::getline(folders, folder, ':');)
        if (fs::path program = fs::path(folder) / kProgram; access(program.c_str(), X_OK) == 0) return program;
    return {};
}

std::vector<std::pair<std::string, std::string>> environment_of(const fs::path& folder) {
    return {{"CUDA_MPS_PIPE_DIRECTORY", (folder / "pipe").string()}, {"CUDA_MPS_LOG_DIRECTORY", (folder / "log").string()}};
}

fs::path parent_of_folders() {
    const fs::path folder = fs::temp_directory_path();
    return folder.string().size() < kLongestFolder ? folder : "/tmp";
}

/// Starts the daemon; returns the problem, or "" when it runs.
std::string start_daemon(const fs::path& folder) {
    clients::SpawnOptions spawn;
    spawn.executable = control_program().string();
    spawn.arguments = {"-d"};
    spawn.environment = environment_of(folder);
    spawn.log = folder / "start.log";
    clients::ChildProcess start(spawn);
    if (!start.wait_for(kDaemonStart_s)) return fmt::format("{} -d did not return within {} s", kProgram, kDaemonStart_s);
    const std::string end = start.end()->text;
    return end == "exited with status 0" ? "" : fmt::format("{} -d {}: {}", kProgram, end, read_file_or_nothing(spawn.log));
}

void quit_daemon(const fs::path& folder) {
    clients::SpawnOptions spawn;
    spawn.executable = "/bin/sh";
    spawn.arguments = {"-c", "echo quit | \"$0\"", control_program().string()};
    spawn.environment = environment_of(folder);
    clients::ChildProcess(spawn).wait_for(kQuit_s);
}

/// Locks the file before it gets its name, so that no process takes a folder in the making for an abandoned one.
int take_lock(const fs::path& folder) {
    const fs::path aside = folder / "lock.part";
    const int lock = open(aside.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) != 0 || rename(aside.c_str(), (folder / "lock").c_str()) != 0)
        throw os_fault("cannot lock " + folder.string());
    return lock;
}

bool is_ours(const fs::path& folder) {
    struct stat status {};
    return folder.filename().string().rfind(kFolders, 0) == 0 && lstat(folder.c_str(), &status) == 0 &&
           S_ISDIR(status.st_mode) && status.st_uid == getuid();
}

void end_left_behind() {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(parent_of_folders(), none)) {
        if (!is_ours(entry.path())) continue;
        const int lock = open((entry.path() / "lock").c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        if (lock < 0) continue;
        if (flock(lock, LOCK_EX | LOCK_NB) == 0) {
            quit_daemon(entry.path());
            fs::remove_all(entry.path(), none);
        }
        close(lock);
    }
}

/// A pipe's ends (read, write), with close-on-exec.
std::array<int, 2> make_pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw os_fault("pipe2");
    return ends;
}

}  // namespace

std::string why_no_mps(bool on_gpu) {
    if (!on_gpu) return "the device is cpu, but MPS is for workers that share a GPU";
    if (control_program().empty()) return fmt::format("{} is not on PATH; it comes with the driver", kProgram);
    return "";
}

MpsDaemon::MpsDaemon() {
    end_left_behind();
    std::string pattern = (parent_of_folders() / (std::string(kFolders) + "XXXXXX")).string();
    if (mkdtemp(pattern.data()) == nullptr) throw os_fault("cannot make " + pattern);
    folder_ = pattern;
    fs::create_directory(folder_ / "pipe");
    fs::create_directory(folder_ / "log");
    const int lock = take_lock(folder_);
    const auto [lifeline_end, lifeline] = make_pipe();
    const auto [answer, answer_end] = make_pipe();
    lifeline_ = lifeline;
    clients::SpawnOptions spawn;
    spawn.arguments = {"mps-keeper",
                       "--folder",
                       folder_.string(),
                       "--lifeline",
                       std::to_string(lifeline_end),
                       "--answer",
                       std::to_string(answer_end),
                       "--lock",
                       std::to_string(lock)};
    spawn.inherited = {lifeline_end, answer_end, lock};
    spawn.own_group = true;
    keeper_ = std::make_unique<clients::ChildProcess>(spawn);
    for (const int descriptor : {lock, lifeline_end, answer_end}) close(descriptor);
    await_daemon(answer);
}

/// Throws if the keeper reports a failure, or reports nothing.
void MpsDaemon::await_daemon(int answer) {
    std::string said;
    std::array<char, 512> part{};
    pollfd polled{answer, POLLIN, 0};
    while (poll(&polled, 1, static_cast<int>(2.0 * kDaemonStart_s * 1000.0)) > 0) {
        const ssize_t size = read(answer, part.data(), part.size());
        if (size <= 0) break;
        said.append(part.data(), static_cast<std::size_t>(size));
    }
    close(answer);
    if (said == "ready") return;
    close(lifeline_);
    keeper_->wait_for(kQuit_s);  // until it has cleaned up
    throw MpsFault(fmt::format("cannot start MPS: {}", said.empty() ? "its keeper ended" : said));
}

MpsDaemon::~MpsDaemon() {
    close(lifeline_);
    keeper_->wait_for(kQuit_s + 5.0);
}

std::vector<std::pair<std::string, std::string>> MpsDaemon::environment() const { return environment_of(folder_); }

int mps_keeper_command(const fs::path& folder, int lifeline, int answer, int lock) {
    // The keeper must outlive the coordinator. If that dies before this line, there is no daemon yet.
    prctl(PR_SET_PDEATHSIG, 0);
    for (const int descriptor : {lifeline, answer, lock}) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    std::string problem;
    try {
        problem = start_daemon(folder);
    } catch (const Fault& fault) {
        problem = fault.what();
    }
    const std::string text = problem.empty() ? "ready" : problem;
    [[maybe_unused]] const ssize_t told = write(answer, text.data(), text.size());
    close(answer);
    if (problem.empty()) {
        char byte = 0;
        while (read(lifeline, &byte, 1) < 0 && errno == EINTR) {
        }
        quit_daemon(folder);
    }
    std::error_code none;
    fs::remove_all(folder, none);
    return problem.empty() ? 0 : 1;
}

}  // namespace fedhive::sim
