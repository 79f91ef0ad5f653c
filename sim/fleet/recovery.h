// Resolves the failures that a wait has found: replaces workers or ends them for good, puts tasks back on the board, asks the policy about clients.
// docs/failures.md describes it.
#pragma once

#include "aggregation/memory/arena.h"
#include "clients/protocol/round_barrier.h"
#include "sim/fleet/chunks.h"
#include "sim/fleet/failure_policy.h"
#include "sim/fleet/flights.h"
#include "sim/fleet/workforce.h"

#include <span>
#include <vector>

namespace fedhive::sim {

class Recovery {
public:
    /// All must outlive this.
    Recovery(const FleetOptions& options, const aggregation::Arena& arena, Workforce& workforce, FailurePolicy& policy,
             Board& board, Flights& flights, Chunks& chunks)
        : options_(options),
          arena_(arena),
          workforce_(workforce),
          policy_(policy),
          board_(board),
          flights_(flights),
          chunks_(chunks) {}

    /// Resolves each failure once, in order. Throws RunAborted.
    void resolve(std::vector<clients::FoundFailure> found);

private:
    void resolve_one(clients::FoundFailure found);
    void resolve_client(std::size_t slot, clients::ClientFailure failure, bool forgiven);
    void resolve_chunk(std::size_t cell, const clients::ClientFailure& failure, bool forgiven);
    void require_finite_model(const Flight& flight, clients::ClientFailure failure);
    clients::FoundFailure recall_group(const clients::FoundFailure& first, std::vector<clients::FoundFailure>& others);
    void replace_worker(const clients::FoundFailure& found, bool needed = false);
    void restart_all();
    bool leave_fewer_workers(clients::ClientFailure& failure);
    void put_again(std::span<const std::size_t> cells);

    const FleetOptions& options_;
    const aggregation::Arena& arena_;
    Workforce& workforce_;
    FailurePolicy& policy_;
    Board& board_;
    Flights& flights_;
    Chunks& chunks_;
};

}  // namespace fedhive::sim
