// The exchange between ranks at the barrier: the result of each client that a rank has trained, and the failures it met.
// Afterwards the awaited flights look the same on all ranks, except for their updates (ranked_aggregation.h).
#pragma once

#include "sim/fleet/arrival_order.h"
#include "sim/fleet/deadlines.h"
#include "sim/fleet/failure_policy.h"
#include "sim/fleet/flights.h"
#include "sim/fleet/workforce.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fedhive::sim {

class RankReports {
public:
    /// All arguments must outlive this. Collective: with several ranks, all of them construct it at the same time.
    RankReports(const FleetOptions& options, const Workforce& workforce, const Workload& workload, const Deadlines& deadlines,
                Board& board, FailurePolicy& policy, Flights& flights);

    /// To be called when this rank's part of these flights is done; returns when they are done on all ranks. Throws as Ranks::all_gather.
    void exchange(const Expected& arrivals);

    /// The time to wait for ranks whose workers each have up to `tasks` tasks, with `steps` local steps together; or up to `chunks` chunks.
    Patience patience(std::uint64_t tasks, std::uint64_t steps) const;
    Patience patience_with_chunks(std::uint64_t chunks) const;

private:
    Patience patience_with(double seconds) const;
    Patience patience(const Expected& arrivals);
    std::string report(const Expected& arrivals);
    void read(const std::string& report, const Expected& arrivals, std::uint32_t rank);

    const FleetOptions& options_;
    const Workforce& workforce_;
    const Workload& workload_;
    const Deadlines& deadlines_;
    Board& board_;
    FailurePolicy& policy_;
    Flights& flights_;
    std::vector<std::int64_t> clock_ahead_ns_;  // by rank: its clock minus this rank's now_ns()
    bool first_ = true;
};

}  // namespace fedhive::sim
