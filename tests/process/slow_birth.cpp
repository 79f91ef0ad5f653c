// Preloaded into a run (LD_PRELOAD): delays the start of each child process by BIRTH_MS milliseconds, as on a machine whose
// processors are busy with the children started before. The children themselves run unchanged.
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

/// Initialised before main, so that no worker inherits the library.
[[maybe_unused]] const bool is_ready = birth_ms() > 0;

}  // namespace

extern "C" pid_t fork() noexcept {
    const timespec wait{birth_ms() / 1000, birth_ms() % 1000 * 1'000'000};
    nanosleep(&wait, nullptr);
    return reinterpret_cast<pid_t (*)()>(dlsym(RTLD_NEXT, "fork"))();
}
