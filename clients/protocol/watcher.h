// One thread in the coordinator that turns everything a wait has to know of into a ring of the bell: signals (signalfd), deaths of workers
// (pidfds) and deadlines (a monotonic timerfd). So the barrier only ever waits for its bell, and needs no timed wait, no signal handler
// and no polling.
//
// It also knows how long this process was stopped (Ctrl-Z, a closed lid, a paused virtual machine): deadlines are measured in awake time.
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
    explicit Interrupted(int number, bool between_rounds = true)
        : std::runtime_error("interrupted"), signal_number(number), consistent(between_rounds) {}
    int signal_number;
    bool consistent;  // the server's state is that of a whole number of rounds
};

/// For the time before there is a watcher: throws Interrupted when one of the blocked signals is waiting.
void throw_if_interrupted();

class Watcher {
public:
    /// `ring` is called from the watcher's thread; so is `last_resort`, kPatience after a second interrupting signal, for a main thread that is
    /// busy with something else than waiting for its bell.
    /// `noticed` is called between seeing that something has happened and noting what: a test holds the thread there.
    explicit Watcher(std::function<void()> ring, std::function<void()> last_resort = {}, std::function<void()> noticed = {});
    ~Watcher();
    Watcher(const Watcher&) = delete;
    Watcher& operator=(const Watcher&) = delete;

    /// Rings when the process behind `pidfd` ends; `worker` then counts as dead. Takes no ownership.
    void watch(std::size_t worker, int pidfd);

    /// To be called before the descriptor is closed: another process may be given its number.
    void forget(std::size_t worker);

    /// Rings once at that time of now_ns(); replaces the deadline before.
    void arm(std::int64_t deadline_ns) const;

    bool dead(std::size_t worker) const;

    /// The first interrupting signal received, 0 if none.
    int interrupt() const { return interrupt_.load(std::memory_order_acquire); }

    /// How many interrupting signals so far; from two on, whoever cleans up does so without waiting for anybody.
    int interrupts() const { return interrupts_.load(std::memory_order_acquire); }

    /// True once there was one and `grace_s` have passed since, or there was another.
    bool must_leave(double grace_s) const;

    /// When the first one came, in now_ns(); 0: none.
    std::int64_t interrupt_ns() const { return interrupt_ns_.load(std::memory_order_acquire); }

    /// Time since `from_ns`, in which this process was not stopped. Cost: one lock.
    std::int64_t awake_ns_since(std::int64_t from_ns);

    static constexpr double kPatience = 2.0;  // s

private:
    struct Watched {
        std::size_t worker;
        int pidfd;
        bool dead;
        std::uint64_t id;  // of this watch() call: a descriptor's number may be given to another process
    };
    /// A stretch of time in which no thread of this process ran.
    struct Stop {
        std::int64_t begin_ns;
        std::int64_t end_ns;
    };
    void loop();
    void take_signal();
    std::int64_t note_time();

    std::function<void()> ring_;
    std::function<void()> last_resort_;
    std::function<void()> noticed_;
    int signal_fd_;
    int timer_fd_;
    int wake_fd_;  // tells the thread that the list has changed or that it should stop
    std::atomic<bool> stop_{false};
    std::atomic<int> interrupt_{0};
    std::atomic<int> interrupts_{0};
    std::atomic<std::int64_t> interrupt_ns_{0};
    std::int64_t second_interrupt_ns_ = 0;  // the watcher's thread only
    mutable std::mutex mutex_;
    std::vector<Watched> watched_;
    std::uint64_t num_watched_ = 0;  // watch() calls so far
    std::vector<Stop> stops_;        // in order of time
    std::int64_t last_seen_awake_ns_;
    std::thread thread_;
};

}  // namespace fedhive::clients
