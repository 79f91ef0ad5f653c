// Makes the result of the barrier from arrived flights: updates, one report per client, bytes, staleness.
#pragma once

#include "aggregation/memory/arena.h"
#include "sim/fleet/deadlines.h"
#include "sim/fleet/flights.h"

#include <vector>

namespace fedhive::sim {

class Collector {
public:
    /// All must outlive this.
    Collector(const FleetOptions& options, const ArrivalOrder& order, const aggregation::Arena& arena, const Workload& workload,
              Deadlines& deadlines, Board& board, Flights& flights)
        : options_(options),
          order_(order),
          arena_(arena),
          workload_(workload),
          deadlines_(deadlines),
          board_(board),
          flights_(flights) {}

    /// Collects these flights in the order of their arrival, and advances simulated time to the last arrival. If the mode does not let other
    /// flights go on, they are left behind. Adds the root client's update, if it trained; that takes no simulated time and no bytes.
    Arrivals collect(const Expected& arrivals, ServerState& server);

private:
    void add_root(Arrivals& arrived) const;
    void add_arrival(Arrivals& arrived, std::size_t position, std::size_t slot, const ServerState& server);
    std::size_t take_results(Arrivals& arrived, std::size_t slot, std::uint64_t staleness);
    void add_update(Arrivals& arrived, std::size_t position, std::size_t slot, std::uint64_t staleness);
    ClientReport report_of(const Flight& flight, std::size_t slot, std::size_t i, const clients::ClientResult& result) const;
    std::uint32_t worker_of(const Flight& flight, std::size_t slot, const Attempts& attempts) const;
    void leave_behind(Arrivals& arrived, std::size_t slot, ServerState& server);

    const FleetOptions& options_;
    const ArrivalOrder& order_;
    const aggregation::Arena& arena_;
    const Workload& workload_;
    Deadlines& deadlines_;
    Board& board_;
    Flights& flights_;
};

}  // namespace fedhive::sim
