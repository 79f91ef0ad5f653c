#include "sim/record/run_lock.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/error.h"
#include "sim/record/durable_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

namespace fedhive::sim {

namespace {

constexpr off_t kLongestHolder = 32;

/// The text that the lock's holder wrote.
std::string read_holder(int descriptor) {
    std::array<char, kLongestHolder> text{};
    const ssize_t size = pread(descriptor, text.data(), text.size(), 0);
    const std::string holder(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    return holder.substr(0, holder.find('\n'));
}

/// False if the file was removed, and perhaps recreated, between opening and locking it: then the lock is on a file that no
/// other process will open.
bool is_still_at(int descriptor, const std::filesystem::path& file) {
    struct stat opened {};
    struct stat present {};
    return fstat(descriptor, &opened) == 0 && lstat(file.c_str(), &present) == 0 && opened.st_dev == present.st_dev &&
           opened.st_ino == present.st_ino;
}

std::string read_proc(const std::string& pid, const char* file) {
    std::ifstream stream("/proc/" + pid + "/" + file);
    return {std::istreambuf_iterator<char>(stream), {}};
}

/// True if the process was killed and is still exiting: its memory is freed before its locks.
bool is_dying(const std::string& pid) {
    constexpr unsigned long kExiting = 0x4;  // PF_EXITING of <linux/sched.h>
    const std::string stat = read_proc(pid, "stat");
    std::istringstream fields(stat.substr(std::min(stat.size(), stat.rfind(')') + 1)));
    std::string state;
    std::string skipped;
    unsigned long flags = 0;
    fields >> state;
    for (int i = 0; i < 5; ++i) fields >> skipped;  // parent, group, session, terminal, its group
    fields >> flags;
    if (state == "Z" || state == "X" || (flags & kExiting) != 0) return true;
    std::istringstream status(read_proc(pid, "status"));
    for (std::string name; status >> name;) {
        unsigned long long pending = 0;
        if ((name == "SigPnd:" || name == "ShdPnd:") && status >> std::hex >> pending && (pending >> (SIGKILL - 1) & 1) != 0)
            return true;
    }
    return false;
}

/// Seconds to wait for the holder's end; 0 for one that is at work.
double patience_with(const std::string& holder) {
    constexpr double kWithTheDying = 10.0;
    constexpr double kWithTheDead = 0.5;  // a child that it was just starting may hold it until it dies
    if (holder.empty()) return 0.0;
    if (!std::filesystem::exists("/proc/" + holder)) return kWithTheDead;
    return is_dying(holder) ? kWithTheDying : 0.0;
}

/// The file is empty or has a number.
bool names_a_process(int descriptor) {
    const std::string holder = read_holder(descriptor);
    return std::all_of(holder.begin(), holder.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Opens the lock file; throws if it is not ours.
int open_lock(const std::filesystem::path& folder, const std::filesystem::path& file) {
    const auto refuse = [&](const std::string& problem) {
        throw ConfigError(fmt::format("{}: cannot be written: {}", folder.string(), problem));
    };
    int descriptor = -1;
    try {
        descriptor = open_own_file(file, O_RDWR);
    } catch (const Fault& fault) {
        refuse(fault.what());
    }
    // Our file is empty or has a process's number; never overwrite anything else.
    struct stat status {};
    if (fstat(descriptor, &status) == 0 && status.st_nlink < 2 && status.st_size < kLongestHolder &&
        names_a_process(descriptor))
        return descriptor;
    close(descriptor);
    refuse(fmt::format("{} was not made by fedhive; remove it, or choose another folder", file.string()));
    return -1;
}

/// An open and locked descriptor.
int lock_file(const std::filesystem::path& folder) {
    const std::filesystem::path file = folder / RunLock::kName;
    const std::int64_t begun = now_ns();
    for (;;) {
        const int descriptor = open_lock(folder, file);
        const bool taken = flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        if (taken && is_still_at(descriptor, file)) {
            const std::string holder = read_holder(descriptor);
            close(descriptor);
            if (seconds_between(begun, now_ns()) < patience_with(holder)) {
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
                continue;
            }
            const std::string process =
                holder.empty() ? "" : fmt::format(" (process {}), or stop it with: kill -INT {}", holder, holder);
            throw ConfigError(
                fmt::format("{}: another run is using this folder; wait for its end{}", folder.string(), process));
        }
        // Some network file systems have no locks: the run goes on without one.
        if (!taken && is_still_at(descriptor, file)) return descriptor;
        close(descriptor);
    }
}

}  // namespace

RunLock::RunLock(const std::filesystem::path& folder) : folder_(folder), descriptor_(lock_file(folder)) {
    // Only a message needs it, so a full disk does not matter.
    const std::string holder = std::to_string(getpid()) + "\n";
    [[maybe_unused]] const bool named =
        ftruncate(descriptor_, 0) == 0 && pwrite(descriptor_, holder.data(), holder.size(), 0) > 0;
}

RunLock::~RunLock() {
    if (descriptor_ < 0) return;
    // Unlink before unlocking: afterwards the file could be another process's.
    unlink((folder_ / kName).c_str());
    close(descriptor_);
}

RunLock::RunLock(RunLock&& other) noexcept
    : folder_(std::move(other.folder_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

}  // namespace fedhive::sim
