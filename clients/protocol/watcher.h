// A coordinator thread that rings the coordinator's bell (a semaphore) for each event that a wait must notice: signals (signalfd), deaths of
// workers (pidfds) and deadlines (a monotonic timerfd). So the barrier waits for its bell only, without timed waits, signal handlers or
// polling.
//
// It also records how long this process was stopped (Ctrl-Z, a closed lid, a paused virtual machine), since deadlines count awake time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace fedhive::clients {

/// Blocks SIGINT, SIGTERM and SIGHUP in this thread and those it starts, so that the watcher alone receives them. Call it
/// before any thread is started.
void block_interrupts();

/// Thrown after an interrupting signal: SIGINT (Ctrl-C), SIGTERM, SIGHUP.
struct Interrupted : std::runtime_error {
    explicit Interrupted(int number, bool between_rounds = true)
        : std::runtime_error("interrupted"), signal_number(number), consistent(between_rounds) {}
    int signal_number;
    bool consistent;  // the server's state corresponds to a whole number of rounds
};

/// Throws Interrupted when one of the blocked signals is pending. For the time before a watcher exists.
void throw_if_interrupted();

class Watcher {
public:
    /// All callbacks run in the watcher's thread. `ring` rings the bell. `last_resort` is called kPatience after a second interrupting signal,
    /// in case the main thread does not wait for its bell. `noticed` is called after an event was seen and before it is recorded, where
    /// tests hold the thread.
    explicit Watcher(std::function<void()> ring, std::function<void()> last_resort = {}, std::function<void()> noticed = {});
    ~Watcher();
    Watcher(const Watcher&) = delete;
    Watcher& operator=(const Watcher&) = delete;

    /// Rings when the process behind `pidfd` ends; `worker` then counts as dead. Takes no ownership.
    void watch(std::size_t worker, int pidfd);

    /// Stops watching the worker. Call it before the descriptor is closed, since another process may get its number.
    void forget(std::size_t worker);

    /// Rings once when now_ns() reaches deadline_ns; replaces an earlier deadline.
    void arm(std::int64_t deadline_ns) const;

    bool dead(std::size_t worker) const;

    /// The first interrupting signal received, 0 if none.
    int interrupt() const { return interrupt_.load(std::memory_order_acquire); }

    /// Number of interrupting signals so far; from two on, clean-up must not wait for any process.
    int interrupts() const { return interrupts_.load(std::memory_order_acquire); }

    /// True when `grace_s` seconds have passed since the first interrupting signal, or after a second one.
    bool must_leave(double grace_s) const;

    /// now_ns() at the first interrupting signal; 0 if none.
    std::int64_t interrupt_ns() const { return interrupt_ns_.load(std::memory_order_acquire); }

    /// Time since `from_ns` without the time in which this process was stopped. Cost: one lock.
    std::int64_t awake_ns_since(std::int64_t from_ns);

    static constexpr double kPatience = 2.0;  // s

private:
    struct Watched {
        std::size_t worker;
        int pidfd;
        bool dead;
        std::uint64_t id;  // identifies the watch() call, since another process may get the descriptor's number
    };
    /// An interval in which no thread of this process ran.
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
    int wake_fd_;  // wakes the thread: the list has changed, or it should stop
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
