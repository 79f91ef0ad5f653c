// One wait of the coordinator until enough tasks are done; failures are resolved during the wait.
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
    std::size_t before = 0;  // number of earlier arrivals, which tasks_done() includes
};

class Wait {
public:
    /// All must outlive this.
    Wait(Workforce& workforce, const Board& board, FailurePolicy& policy, Recovery& recovery)
        : workforce_(workforce), board_(board), policy_(policy), recovery_(recovery) {}

    /// Waits until awaited() holds. Calls `awaited` again after each failure, since a dropped client leaves fewer cells. Throws RunAborted; Interrupted,
    /// `grace_s` after a first signal or at once after a second.
    void until(const std::function<Awaited()>& awaited, double grace_s);

    /// Waits until no worker writes for these withdrawn cells any more.
    void until_let_go(std::span<const std::size_t> cells);

    /// Finished and awaited tasks of the current wait; from any thread.
    std::pair<std::size_t, std::size_t> tasks_done() const;

private:
    std::uint32_t finished() const { return workforce_.block().header().finished.load(std::memory_order_relaxed); }

    Workforce& workforce_;
    const Board& board_;
    FailurePolicy& policy_;
    Recovery& recovery_;
    std::atomic<std::uint32_t> finished_before_{0};  // the control block's count of finished tasks when this wait began
    std::atomic<std::uint32_t> awaited_{0};          // number of tasks that it waits for
};

}  // namespace fedhive::sim
