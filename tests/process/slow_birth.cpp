// Loaded into a run with LD_PRELOAD: each process that it starts takes BIRTH_MS milliseconds more, as where those that were started before
// take the processors. The processes themselves are left alone.
#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

namespace {

long birth_ms() {
    static const long ms = [] {
        const char* value = std::getenv("BIRTH_MS");
        unsetenv("LD_PRELOAD");
        return value == nullptr ? 0L : std::atol(value);
    }();
    return ms;
}

/// Before main, so that no worker inherits the library.
[[maybe_unused]] const bool is_ready = birth_ms() > 0;

}  // namespace

extern "C" pid_t fork() noexcept {
    const timespec wait{birth_ms() / 1000, birth_ms() % 1000 * 1'000'000};
    nanosleep(&wait, nullptr);
    return reinterpret_cast<pid_t (*)()>(dlsym(RTLD_NEXT, "fork"))();
}
