// One thread in the coordinator that turns everything a wait has to know of into a ring of the bell: signals (signalfd), deaths of workers
// (pidfds) and deadlines (a monotonic timerfd). So the barrier only ever waits for its bell, and needs no timed wait, no signal handler
// and no polling.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace fedhive::clients {

/// Blocks SIGINT, SIGTERM and SIGHUP in this thread and those it starts, so that the watcher alone receives them. To be called before any
/// thread is started.
void block_interrupts();

/// After an interrupt: Ctrl-C, SIGTERM, SIGHUP.
struct Interrupted : std::runtime_error {
    explicit Interrupted(int number) : std::runtime_error("interrupted"), signal_number(number) {}
    int signal_number;
};

/// For the time before there is a watcher: throws Interrupted when one of the blocked signals is waiting.
void throw_if_interrupted();

class Watcher {
public:
    /// `ring` is called from the watcher's thread.
    explicit Watcher(std::function<void()> ring);
    ~Watcher();
    Watcher(const Watcher&) = delete;
    Watcher& operator=(const Watcher&) = delete;

    /// Rings when the process behind `pidfd` ends; `worker` then counts as dead. Takes no ownership.
    void watch(std::size_t worker, int pidfd);

    /// Rings once at that time of now_ns(); replaces the deadline before.
    void arm(std::int64_t deadline_ns) const;

    bool dead(std::size_t worker) const;

    /// The first interrupting signal received, 0 if none.
    int interrupt() const { return interrupt_.load(std::memory_order_acquire); }

private:
    struct Watched {
        std::size_t worker;
        int pidfd;
        bool dead;
    };
    void loop();

    std::function<void()> ring_;
    int signal_fd_;
    int timer_fd_;
    int wake_fd_;  // tells the thread that the list has changed or that it should stop
    std::atomic<bool> stop_{false};
    std::atomic<int> interrupt_{0};
    mutable std::mutex mutex_;
    std::vector<Watched> watched_;
    std::thread thread_;
};

}  // namespace fedhive::clients
