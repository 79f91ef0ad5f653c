#include "clients/protocol/watcher.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/error.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <ctime>

namespace fedhive::clients {

namespace {

constexpr std::array kInterrupts{SIGINT, SIGTERM, SIGHUP};

constexpr int kTickMs = 250;                     // the watcher reads the clock at least this often;
constexpr std::int64_t kStopNs = 1'000'000'000;  // a longer gap than this means that the process was stopped

sigset_t interrupt_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int number : kInterrupts) sigaddset(&set, number);
    return set;
}

int checked(int descriptor, const char* what) {
    if (descriptor < 0) throw os_fault(what);
    return descriptor;
}

void drain(int descriptor) {
    std::uint64_t ignored = 0;
    [[maybe_unused]] const auto got = read(descriptor, &ignored, sizeof ignored);
}

}  // namespace

void block_interrupts() {
    const sigset_t set = interrupt_signals();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

void throw_if_interrupted() {
    sigset_t pending;
    sigpending(&pending);
    for (const int number : kInterrupts)
        if (sigismember(&pending, number) == 1) throw Interrupted(number);
}

Watcher::Watcher(std::function<void()> ring, std::function<void()> last_resort, std::function<void()> noticed)
    : ring_(std::move(ring)),
      last_resort_(std::move(last_resort)),
      noticed_(std::move(noticed)),
      signal_fd_([] {
          const sigset_t set = interrupt_signals();
          return checked(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd");
      }()),
      timer_fd_(checked(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK), "timerfd_create")),
      wake_fd_(checked(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")),
      last_seen_awake_ns_(now_ns()),
      thread_([this] { loop(); }) {}

Watcher::~Watcher() {
    stop_.store(true, std::memory_order_release);
    eventfd_write(wake_fd_, 1);
    thread_.join();
    for (const int descriptor : {signal_fd_, timer_fd_, wake_fd_}) close(descriptor);
}

void Watcher::watch(std::size_t worker, int pidfd) {
    {
        const std::lock_guard lock(mutex_);
        watched_.push_back({worker, pidfd, false, num_watched_++});
    }
    eventfd_write(wake_fd_, 1);
}

void Watcher::forget(std::size_t worker) {
    const std::lock_guard lock(mutex_);
    std::erase_if(watched_, [&](const Watched& one) { return one.worker == worker; });
}

void Watcher::arm(std::int64_t deadline_ns) const {
    itimerspec time{};
    time.it_value.tv_sec = deadline_ns / 1'000'000'000;
    time.it_value.tv_nsec = deadline_ns % 1'000'000'000;
    if (timerfd_settime(timer_fd_, TFD_TIMER_ABSTIME, &time, nullptr) != 0) throw os_fault("timerfd_settime");
}

bool Watcher::dead(std::size_t worker) const {
    const std::lock_guard lock(mutex_);
    return std::any_of(watched_.begin(), watched_.end(), [&](const Watched& one) { return one.worker == worker && one.dead; });
}

std::int64_t Watcher::note_time() {
    const std::int64_t now = now_ns();
    if (now - last_seen_awake_ns_ > kStopNs) stops_.push_back({last_seen_awake_ns_, now});
    last_seen_awake_ns_ = now;
    return now;
}

std::int64_t Watcher::awake_ns_since(std::int64_t from_ns) {
    const std::lock_guard lock(mutex_);
    const std::int64_t now = note_time();
    std::int64_t awake = now - from_ns;
    for (auto stop = stops_.rbegin(); stop != stops_.rend() && stop->end_ns > from_ns; ++stop)
        awake -= stop->end_ns - std::max(stop->begin_ns, from_ns);
    return awake;
}

bool Watcher::must_leave(double grace_s) const {
    return interrupts() > 1 || (interrupts() == 1 && seconds_between(interrupt_ns(), now_ns()) >= grace_s);
}

void Watcher::take_signal() {
    signalfd_siginfo info{};
    if (read(signal_fd_, &info, sizeof info) != sizeof info) return;
    // The signal's number is set last, so that a reader of it sees the other fields, too.
    if (interrupts() == 0) interrupt_ns_.store(now_ns());
    if (interrupts_.fetch_add(1) == 1) second_interrupt_ns_ = now_ns();
    int none = 0;
    interrupt_.compare_exchange_strong(none, static_cast<int>(info.ssi_signo));
}

void Watcher::loop() {
    while (!stop_.load(std::memory_order_acquire)) {
        std::vector<pollfd> polled{{signal_fd_, POLLIN, 0}, {timer_fd_, POLLIN, 0}, {wake_fd_, POLLIN, 0}};
        std::vector<std::uint64_t> ids(polled.size());
        {
            const std::lock_guard lock(mutex_);
            for (const Watched& one : watched_) {
                if (one.dead) continue;
                polled.push_back({one.pidfd, POLLIN, 0});
                ids.push_back(one.id);
            }
        }
        const int events = poll(polled.data(), polled.size(), kTickMs);
        {
            const std::lock_guard lock(mutex_);
            note_time();
        }
        if (second_interrupt_ns_ != 0 && seconds_between(second_interrupt_ns_, now_ns()) > kPatience && last_resort_)
            last_resort_();
        if (events <= 0) continue;
        bool ring = false;
        if (polled[0].revents != 0) {
            take_signal();
            ring = true;
        }
        if (polled[1].revents != 0) {
            drain(timer_fd_);
            ring = true;
        }
        if (polled[2].revents != 0) drain(wake_fd_);
        if (noticed_) noticed_();
        {
            // Compared by id: a worker replaced meanwhile may have left its descriptor's number to its successor.
            const std::lock_guard lock(mutex_);
            for (std::size_t i = 3; i < polled.size(); ++i) {
                if (polled[i].revents == 0) continue;
                for (Watched& one : watched_)
                    if (one.id == ids[i]) one.dead = ring = true;
            }
        }
        if (ring) ring_();
    }
}

}  // namespace fedhive::clients
