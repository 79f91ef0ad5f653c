// R ranks (processes, or threads of a test) that publish their step counts in shared memory and wait for those of others.
// collectives.h defines the work of a step.
//
//   [ RankCell 0 | RankCell 1 | … | RankCell R-1 ]     each field group on its own cache lines; no pointers inside
//
//   Field                            Who writes it
//   progress                         its rank; only grows: (number of the collective) << 32 | step
//   awaits, target                   its rank, when it goes to sleep
//   asleep                           its rank sets 1; the rank that rings sets 0, so that each sleep is rung once
//   bell                             posted by the others; a hint, never the truth: a lost or a stale ring costs one more look
//   missing                          of cell 0 only: the first rank that leaves, by CAS; all others then name the same rank
//   object, object_bytes             its rank, before it begins gather_object()
//
//   rank r                                                    rank q
//   await(q, step): has q reached it? go on                   publish(step): progress = step
//     look for a while, if every rank has a core                for every rank that is asleep, awaits q and has its target:
//     asleep = 1 ── look again ── bell, at most 50 ms              asleep → 0, post its bell
//     missing set? leave, naming it
//     past the deadline? missing = blocking rank; leave       leave(): missing = q, unless it is set
//
// Store, then look: both sides are sequentially consistent, so that either q sees r asleep or r sees the progress of q. There
// is no lock: a rank killed at any instruction leaves nothing held. Progress in a later collective exceeds every step of an
// earlier one. Counters are therefore never reset, and a rank may run ahead; collectives.h explains why it never overwrites
// floats that another rank still reads.
//
// The blocking rank: the awaited rank, or, if that rank waits, too, the rank that it awaits, and so on. The prerequisites of a step never
// depend on that step, so this chain ends at a rank that is at work, or at one that was killed in a wait that is over.
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

/// One rank's fields in shared memory. The creator of the group constructs the cells.
struct RankCell {
    static constexpr std::size_t kObjectBytes = 1024;

    alignas(64) std::atomic<std::uint64_t> progress{0};
    alignas(64) std::atomic<std::uint32_t> asleep{0};
    std::atomic<std::uint32_t> awaits{0};               // 1 + the rank that this rank waits for; 0: it is at work
    std::atomic<std::uint64_t> target{0};               // the progress that it waits for
    alignas(64) std::atomic<std::uint32_t> missing{0};  // in cell 0 only: 1 + the missing rank, once the group has given up
    alignas(64) boost::interprocess::interprocess_semaphore bell{0};
    alignas(64) std::uint64_t object_bytes = 0;
    std::array<std::byte, kObjectBytes> object{};

    /// Resets the cell for another group. No rank may be using the cells.
    void reset();
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

/// Thrown when a rank did not arrive, or has left; all ranks report the same one. `rank` is this rank itself if the others gave it up.
struct RankMissing : std::runtime_error {
    RankMissing(std::size_t missing_rank, const std::string& message) : std::runtime_error(message), rank(missing_rank) {}
    std::size_t rank;
};

/// Thrown when this rank was asked to stop while it waited.
struct GroupLeft : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// One rank's view of the group. Process: each rank has its own.
class RankGroup {
public:
    /// deadline_s: limit of each single wait, > 0. stopping: polled during waits, at least twenty times a second; may be empty.
    RankGroup(std::span<RankCell> cells, std::size_t rank, double deadline_s, std::function<bool()> stopping);

    /// Leaves the group if an exception is being thrown.
    ~RankGroup();
    RankGroup(const RankGroup&) = delete;
    RankGroup& operator=(const RankGroup&) = delete;

    /// Sets the limit of each later wait, > 0.
    void set_deadline(double seconds);

    std::size_t rank() const { return rank_; }
    std::size_t size() const { return cells_.size(); }
    RankCell& cell(std::size_t rank) const { return cells_[rank]; }

    /// Begins the next collective, at step 0. All ranks begin the same collectives in the same order. `name` and `algorithm`,
    /// which may be empty, are for messages. Throws RankMissing when the group has been given up.
    void begin(const char* name, const char* algorithm = "");

    /// Publishes that this rank has reached `step` of the collective. A rank that awaits the step sees all earlier writes.
    void publish(std::uint64_t step);

    /// Waits until `peer` has reached `step` of this collective. Throws RankMissing past the deadline or when another rank has
    /// left, GroupLeft when this rank is to stop; in both cases this rank has left the group by then.
    void await(std::size_t peer, std::uint64_t step);

    /// Gives up the group because of this rank: the others throw RankMissing at their next begin or wait,
    /// or within 50 ms if they are waiting.
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
    bool look_first_;  // poll before sleeping: every rank has a core of its own
    int exceptions_;
    std::uint64_t collective_ = 0;
    std::uint64_t step_ = 0;  // last step begun or awaited; for messages
    const char* name_ = "";
    const char* algorithm_ = "";
};

}  // namespace fedhive::clients
