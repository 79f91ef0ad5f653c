// The interface for training whole clients, one or many at once, from their first local step to their last. Each client has a row.
// Implementations: by training steps (step_clients.h), by one GPU thread block for each client (device_clients.h), and by a Python function
// (python_clients.h).
#pragma once

#include "aggregation/memory/param_span.h"
#include "clients/visit/local_training.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

namespace fedhive::clients {

class FormulaVisit;

/// The largest number of clients in a launch; more are trained in several launches. A power of two.
inline constexpr std::size_t kBlocksAtOnce = 64;

/// Clients per launch, a power of two in [1, kBlocksAtOnce]: the largest for which 3 vectors (parameters, gradient, momentum)
/// of num_floats floats per client, and `others`, fit in 256 MiB, at least 1.
constexpr std::size_t rows_at_once(std::size_t num_floats, std::size_t others = 0) {
    constexpr std::size_t kBytes = std::size_t{256} << 20;
    const std::size_t rows = kBytes / (sizeof(float) * std::max<std::size_t>(1, 3 * num_floats + others));
    return std::bit_floor(std::clamp<std::size_t>(rows, 1, kBlocksAtOnce));
}

class WholeClients {
public:
    WholeClients() = default;
    WholeClients(const WholeClients&) = delete;
    WholeClients& operator=(const WholeClients&) = delete;
    virtual ~WholeClients() = default;

    /// The largest number of clients at once.
    virtual std::size_t num_rows() const = 0;

    /// Whether a client's bits depend on the number of clients trained at once. Then a client whose update is no longer needed still trains,
    /// to keep the others' bits.
    virtual bool rows_share_steps() const = 0;

    /// Trains clients by the contract of enqueue_clients() (local_training.h). Afterwards parameters_of(k) is client k's local model.
    ///
    /// Shapes   clients: at most num_rows(); results: one for each; global: [P], in the trainer's memory space.
    /// Order    unless rows_share_steps(), a client's bits are those of the trainer's step, independent of the other clients.
    virtual void train(const LocalTraining& plan, const RoundRate& rate, std::uint32_t round,
                       std::span<const RowClient> clients, aggregation::ConstParamSpan global,
                       std::span<ClientResult> results) = 0;

    /// Takes the formulas of the present visit, before train(); for clients whose steps no LocalStep takes.
    virtual void begin_formulas(FormulaVisit&) {}

    /// A row's local model; the next train() overwrites it.
    virtual aggregation::ParamSpan parameters_of(std::size_t row) = 0;
};

}  // namespace fedhive::clients
