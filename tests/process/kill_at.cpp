// Preloaded into a run (LD_PRELOAD): counts the calls that change files below a folder, and kills the process before the Nth of
// them, or in the middle of it if it is a write. Affects the started process only, not its workers.
//
//   KILL_AT_FOLDER   absolute path
//   KILL_AT_CALL     N, from 1; 0: only count
//   KILL_AT_HALF     1: in the middle; other calls than writes then complete before the process dies
//   KILL_AT_LOG      file that gets one line per call: its name and the path
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

struct Plan {
    std::string folder = environment("KILL_AT_FOLDER");
    std::string log = environment("KILL_AT_LOG");
    long call = std::atol(environment("KILL_AT_CALL").c_str());
    bool half = environment("KILL_AT_HALF") == "1";
    long count = 0;

    Plan() {
        if (!folder.empty()) folder += "/";
        unsetenv("LD_PRELOAD");  // workers run without the library
    }
};

Plan& plan() {
    static Plan the_plan;
    return the_plan;
}

/// Initialised before main, so that no worker inherits the library.
[[maybe_unused]] const bool is_ready = !plan().folder.empty();

void log_call(const char* name, std::string_view path) {
    if (plan().log.empty()) return;
    const std::string line = std::string(name) + " " + std::string(path) + "\n";
    const long file = syscall(SYS_openat, AT_FDCWD, plan().log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    syscall(SYS_write, file, line.data(), line.size());
    syscall(SYS_close, file);
}

std::string path_of(int descriptor) {
    std::array<char, PATH_MAX> path{};
    const ssize_t size = readlink(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), path.data(), path.size());
    return {path.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

void die() { syscall(SYS_kill, getpid(), SIGKILL); }

/// Counts a call that changes `path`. Kills the process if it is the Nth, unless it is to be done first, in
/// half if possible: then true.
bool counts(const char* name, std::string_view path) {
    const int error = errno;
    const bool below = !plan().folder.empty() && path.starts_with(plan().folder);
    if (below) {
        ++plan().count;
        log_call(name, path);
    }
    errno = error;
    if (!below || plan().count != plan().call) return false;
    if (!plan().half) die();
    return true;
}

template <typename Function>
Function* next(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

/// Makes the real call; then kills the process if this was the Nth call.
template <typename Call>
auto around(bool last, Call call) {
    const auto result = call();
    if (last) die();
    return result;
}

constexpr int kWrites = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    const bool last = (flags & kWrites) != 0 && counts("open", path);
    return around(last, [&] { return next<int(const char*, int, mode_t)>("open")(path, flags, mode); });
}

ssize_t write(int descriptor, const void* bytes, std::size_t size) {
    const bool last = counts("write", path_of(descriptor));
    return around(
        last, [&] { return next<ssize_t(int, const void*, std::size_t)>("write")(descriptor, bytes, last ? size / 2 : size); });
}

ssize_t pwrite(int descriptor, const void* bytes, std::size_t size, off_t at) {
    const bool last = counts("pwrite", path_of(descriptor));
    return around(last, [&] {
        return next<ssize_t(int, const void*, std::size_t, off_t)>("pwrite")(descriptor, bytes, last ? size / 2 : size, at);
    });
}

int fsync(int descriptor) {
    return around(counts("fsync", path_of(descriptor)), [&] { return next<int(int)>("fsync")(descriptor); });
}

int fdatasync(int descriptor) {
    return around(counts("fdatasync", path_of(descriptor)), [&] { return next<int(int)>("fdatasync")(descriptor); });
}

int ftruncate(int descriptor, off_t size) noexcept {
    return around(counts("ftruncate", path_of(descriptor)),
                  [&] { return next<int(int, off_t)>("ftruncate")(descriptor, size); });
}

int rename(const char* from, const char* to) noexcept {
    return around(counts("rename", to), [&] { return next<int(const char*, const char*)>("rename")(from, to); });
}

int unlink(const char* path) noexcept {
    return around(counts("unlink", path), [&] { return next<int(const char*)>("unlink")(path); });
}

int remove(const char* path) noexcept {
    return around(counts("remove", path), [&] { return next<int(const char*)>("remove")(path); });
}

int mkdir(const char* path, mode_t mode) noexcept {
    return around(counts("mkdir", path), [&] { return next<int(const char*, mode_t)>("mkdir")(path, mode); });
}
}
