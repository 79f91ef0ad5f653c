// R ranks (processes, or threads of a test) that count their steps in shared memory and wait for each other's. What they do in a
// step is in collectives.h.
//
//   [ RankCell 0 | RankCell 1 | … | RankCell R-1 ]     each field group on its own cache lines; no pointers inside
//
//   who writes what
//   progress                         its rank; only grows: (number of the collective) << 32 | step
//   awaits, target                   its rank, when it goes to sleep
//   asleep                           its rank: 1; whoever rings it: 0, so that a sleep is rung once
//   bell                             posted by the others; a hint, never the truth: a lost or a stale ring costs one more look
//   missing                          of cell 0 only: whoever leaves first, by compare-and-swap; all others name the same rank
//   object, object_bytes             its rank, before it begins gather_object()
//
//   rank r                                                    rank q
//   await(q, step): progress of q there? go on                publish(step): progress = step
//     look for a while, if every rank has a core                for every rank that is asleep, awaits q and has its target:
//     asleep = 1 ── look again ── bell, at most 50 ms              asleep → 0, post its bell
//     missing set? leave, naming it
//     past the deadline? missing = who holds us up; leave     leave(): missing = q, unless it is set
//
// Store, then look: both sides are sequentially consistent, so either q sees r asleep or r sees the progress of q. There is no lock:
// a rank killed at any instruction leaves nothing held. Progress in a later collective is beyond every step of an earlier one, so
// counters are never set back, and a rank may run ahead; collectives.h says why it never overwrites what somebody still reads.
//
// Who holds us up: the awaited rank, or, if that waits itself, whom it awaits, and so on. What a step needs never depends on that
// step, so the way ends: at a rank that is at work, or at one whose wait is over and that has not gone on, because it was killed.
#pragma once

#include <boost/interprocess/sync/interprocess_semaphore.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>

namespace fedhive::clients {

/// One rank's words in shared memory. Whoever makes the group constructs the cells.
struct RankCell {
    static constexpr std::size_t kObjectBytes = 1024;

    alignas(64) std::atomic<std::uint64_t> progress{0};
    alignas(64) std::atomic<std::uint32_t> asleep{0};
    std::atomic<std::uint32_t> awaits{0};               // 1 + the rank it waits for; 0: it is at work
    std::atomic<std::uint64_t> target{0};               // the progress it waits for
    alignas(64) std::atomic<std::uint32_t> missing{0};  // of cell 0: 1 + the rank for which the group was given up
    alignas(64) boost::interprocess::interprocess_semaphore bell{0};
    alignas(64) std::uint64_t object_bytes = 0;
    std::array<std::byte, kObjectBytes> object{};

    /// As new, for another group. While no rank uses the cells.
    void reset();
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

/// A rank has not come, or has left; the same one for all who leave. `rank` is this rank itself when the others gave it up.
struct RankMissing : std::runtime_error {
    RankMissing(std::size_t missing_rank, const std::string& message) : std::runtime_error(message), rank(missing_rank) {}
    std::size_t rank;
};

/// This rank was asked to stop while it waited.
struct GroupLeft : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// One rank's view of the group. Process: each rank has its own.
class RankGroup {
public:
    /// deadline_s: of each single wait, > 0. stopping: asked while waiting, twenty times a second or more often; may be empty.
    RankGroup(std::span<RankCell> cells, std::size_t rank, double deadline_s, std::function<bool()> stopping);

    /// Leaves the group when an exception is under way.
    ~RankGroup();
    RankGroup(const RankGroup&) = delete;
    RankGroup& operator=(const RankGroup&) = delete;

    /// Of each wait from now on, > 0.
    void set_deadline(double seconds);

    std::size_t rank() const { return rank_; }
    std::size_t size() const { return cells_.size(); }
    RankCell& cell(std::size_t rank) const { return cells_[rank]; }

    /// The next collective, at step 0. Every rank begins the same ones in the same order. `name` and `algorithm`, which may be empty,
    /// are for messages.
    /// Throws RankMissing when the group has been given up.
    void begin(const char* name, const char* algorithm = "");

    /// This rank has come to `step` of the collective: what it wrote before is seen by whoever awaits that.
    void publish(std::uint64_t step);

    /// Waits until `peer` has come to `step` of this collective. Throws RankMissing past the deadline or when another rank has left,
    /// GroupLeft when this rank is to stop; either way it has left by then.
    void await(std::size_t peer, std::uint64_t step);

    /// Gives up the group on this rank's account: the others throw RankMissing when they next begin or wait, and within 50 ms where
    /// they wait already.
    void leave() noexcept { give_up(rank_, true); }

private:
    bool reached(std::size_t peer, std::uint64_t target) const;
    void sleep_until(std::size_t peer, std::uint64_t step, std::uint64_t target);
    void nap(std::int64_t nanoseconds);
    std::size_t who_holds_up(std::size_t peer) const;
    void throw_if_given_up() const;
    void give_up(std::size_t missing_rank, bool by_itself) noexcept;
    std::string place() const;

    std::span<RankCell> cells_;
    std::size_t rank_;
    std::int64_t deadline_ns_;
    std::int64_t poll_ns_;
    std::function<bool()> stopping_;
    bool look_first_;  // every rank has a core, so looking on takes nobody's
    int exceptions_;
    std::uint64_t collective_ = 0;
    std::uint64_t step_ = 0;  // begun or awaited last; for messages
    const char* name_ = "";
    const char* algorithm_ = "";
};

}  // namespace fedhive::clients
