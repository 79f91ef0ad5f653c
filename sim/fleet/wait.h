// One wait of the coordinator: until enough tasks are done; resolves failures meanwhile.
#pragma once

#include "sim/fleet/recovery.h"

#include <atomic>
#include <functional>
#include <utility>
#include <vector>

namespace fedhive::sim {

/// The end of a wait: `quorum` of `cells` are done.
struct Awaited {
    std::vector<std::size_t> cells;
    std::size_t quorum = 0;  // of `cells`
    std::size_t before = 0;  // earlier arrivals, which tasks_done() counts, too
};

class Wait {
public:
    /// All must outlive this.
    Wait(Workforce& workforce, const Board& board, FailurePolicy& policy, Recovery& recovery)
        : workforce_(workforce), board_(board), policy_(policy), recovery_(recovery) {}

    /// Calls `awaited` again after each failure, which may have left fewer cells. Throws RunAborted; Interrupted, `grace_s`
    /// after a first signal or at once after a second.
    void until(const std::function<Awaited()>& awaited, double grace_s);

    /// Until no worker writes for these withdrawn cells any more.
    void until_let_go(std::span<const std::size_t> cells);

    /// Finished and awaited tasks of the current wait; from any thread.
    std::pair<std::size_t, std::size_t> tasks_done() const;

private:
    std::uint32_t finished() const { return workforce_.block().header().finished.load(std::memory_order_relaxed); }

    Workforce& workforce_;
    const Board& board_;
    FailurePolicy& policy_;
    Recovery& recovery_;
    std::atomic<std::uint32_t> finished_before_{0};  // the block's count when this hand-out began …
    std::atomic<std::uint32_t> awaited_{0};          // … and how many it waits for
};

}  // namespace fedhive::sim
