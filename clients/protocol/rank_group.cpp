#include "clients/protocol/rank_group.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/error.h"

#include <boost/date_time/posix_time/posix_time_types.hpp>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <new>
#include <thread>

namespace fedhive::clients {

namespace {

constexpr std::int64_t kPollNs = 50'000'000;

/// Number of polls before sleeping, each with a yield: about 50 us, the cost of falling asleep and waking up.
constexpr int kLooks = 200;

constexpr int kStepBits = 32;

constexpr std::uint32_t kByItself = 1U << 31;  // flag in RankCell::missing: the rank left by itself

}  // namespace

void RankCell::reset() { new (this) RankCell; }

RankGroup::RankGroup(std::span<RankCell> cells, std::size_t rank, double deadline_s, std::function<bool()> stopping)
    : cells_(cells),
      rank_(rank),
      deadline_ns_(static_cast<std::int64_t>(deadline_s * 1e9)),
      poll_ns_(std::clamp<std::int64_t>(deadline_ns_ / 8, 1'000'000, kPollNs)),
      stopping_(std::move(stopping)),
      look_first_(cells.size() <= std::thread::hardware_concurrency()),
      exceptions_(std::uncaught_exceptions()) {
    FEDHIVE_CHECK(rank < cells.size() && cells.size() < kByItself, "rank {} of {}", rank, cells.size());
    FEDHIVE_CHECK(deadline_s > 0.0, "deadline {} s", deadline_s);
}

void RankGroup::set_deadline(double seconds) { deadline_ns_ = static_cast<std::int64_t>(seconds * 1e9); }

RankGroup::~RankGroup() {
    if (std::uncaught_exceptions() > exceptions_) leave();
}

void RankGroup::begin(const char* name, const char* algorithm) {
    name_ = name;
    algorithm_ = algorithm;
    step_ = 0;
    throw_if_given_up();
    ++collective_;
    publish(0);
}

void RankGroup::publish(std::uint64_t step) {
    const std::uint64_t word = collective_ << kStepBits | step;
    cells_[rank_].progress.store(word);
    for (RankCell& other : cells_)
        if (other.asleep.load() == 1 && other.awaits.load(std::memory_order_relaxed) == rank_ + 1 &&
            other.target.load(std::memory_order_relaxed) <= word && other.asleep.exchange(0) == 1)
            other.bell.post();
}

void RankGroup::await(std::size_t peer, std::uint64_t step) {
    const std::uint64_t target = collective_ << kStepBits | step;
    if (reached(peer, target)) return;
    for (int i = 0; look_first_ && i < kLooks; ++i) {
        std::this_thread::yield();
        if (reached(peer, target)) return;
    }
    sleep_until(peer, step, target);
}

bool RankGroup::reached(std::size_t peer, std::uint64_t target) const { return cells_[peer].progress.load() >= target; }

void RankGroup::sleep_until(std::size_t peer, std::uint64_t step, std::uint64_t target) {
    RankCell& self = cells_[rank_];
    step_ = step;
    const std::int64_t start = now_ns();
    self.target.store(target, std::memory_order_relaxed);
    self.awaits.store(static_cast<std::uint32_t>(peer + 1), std::memory_order_relaxed);
    for (;;) {
        self.asleep.store(1);
        if (reached(peer, target)) break;
        if (stopping_ && stopping_()) {
            leave();
            throw GroupLeft(fmt::format("rank {} of {} was asked to stop in {}", rank_, size(), place()));
        }
        throw_if_given_up();
        const std::int64_t left_ns = start + deadline_ns_ - now_ns();
        if (left_ns <= 0) {
            give_up(who_holds_up(peer), false);
            throw_if_given_up();
        }
        nap(std::min(left_ns, poll_ns_));
    }
    self.asleep.store(0, std::memory_order_relaxed);
    self.awaits.store(0, std::memory_order_relaxed);
}

/// Boost's semaphore uses the wall clock: if that is set back, one nap takes longer, unless the bell rings.
void RankGroup::nap(std::int64_t nanoseconds) {
    namespace time = boost::posix_time;
    try {
        const auto end = time::microsec_clock::universal_time() + time::microseconds(nanoseconds / 1000 + 1);
        cells_[rank_].bell.timed_wait(end);
    } catch (const boost::interprocess::interprocess_exception& error) {
        if (error.get_native_error() != EINTR) throw Fault(std::string("waiting for a bell: ") + error.what());
    }
}

/// The first rank in the chain from `peer` that does not wait, or that sleeps although its wait is over: it was killed asleep.
std::size_t RankGroup::who_holds_up(std::size_t peer) const {
    std::size_t suspect = peer;
    for (std::size_t hop = 0; hop < size(); ++hop) {
        const RankCell& cell = cells_[suspect];
        const std::uint32_t awaits = cell.awaits.load(std::memory_order_relaxed);
        if (awaits == 0 || reached(awaits - 1, cell.target.load(std::memory_order_relaxed))) return suspect;
        suspect = awaits - 1;
    }
    return peer;  // the waits form a circle: the ranks did not call the same collectives in the same order
}

void RankGroup::throw_if_given_up() const {
    const std::uint32_t word = cells_[0].missing.load(std::memory_order_acquire);
    if (word == 0) return;
    const std::size_t missing = (word & ~kByItself) - 1;
    const std::string who = fmt::format("rank {} of {}", missing, size());
    if ((word & kByItself) != 0) throw RankMissing(missing, fmt::format("{} has left the group; noticed in {}", who, place()));
    if (missing == rank_)
        throw RankMissing(missing, fmt::format("{} reached {} after the others had given it up", who, place()));
    const double deadline_s = static_cast<double>(deadline_ns_) * 1e-9;
    throw RankMissing(missing, fmt::format("{} has not reached {} within {:.1f} s", who, place(), deadline_s));
}

void RankGroup::give_up(std::size_t missing_rank, bool by_itself) noexcept {
    std::uint32_t nobody = 0;
    const std::uint32_t word = static_cast<std::uint32_t>(missing_rank + 1) | (by_itself ? kByItself : 0);
    cells_[0].missing.compare_exchange_strong(nobody, word);  // the first rank wins
}

std::string RankGroup::place() const {
    const char* comma = *algorithm_ == '\0' ? "" : ", ";
    return fmt::format("{} ({}{}step {})", name_, algorithm_, comma, step_ + 1);
}

}  // namespace fedhive::clients
