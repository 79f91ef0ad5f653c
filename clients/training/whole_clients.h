// Clients that are trained from their first local step to their last without the host in between, many at once, behind one interface: a row
// a client. One thread block of a GPU each is the first way to do it (device_clients.h).
#pragma once

#include "aggregation/memory/param_span.h"
#include "clients/training/local_training.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

namespace fedhive::clients {

/// Clients of one launch, at most: more of them go one launch after the other. A power of two.
inline constexpr std::size_t kBlocksAtOnce = 64;

/// The same where a client's row is of so many floats, thrice: all rows have room in 256 MiB, but that there is one at least.
constexpr std::size_t rows_at_once(std::size_t num_floats) {
    constexpr std::size_t kBytes = std::size_t{256} << 20;
    const std::size_t rows = kBytes / (3 * sizeof(float) * std::max<std::size_t>(1, num_floats));
    return std::bit_floor(std::clamp<std::size_t>(rows, 1, kBlocksAtOnce));
}

class WholeClients {
public:
    WholeClients() = default;
    WholeClients(const WholeClients&) = delete;
    WholeClients& operator=(const WholeClients&) = delete;
    virtual ~WholeClients() = default;

    /// The most clients at once.
    virtual std::size_t num_rows() const = 0;

    /// enqueue_clients() without a step: parameters_of(k) is then client k's local model.
    ///
    /// Shapes   clients: at most num_rows(); results: one each; global: [P], in the device's memory.
    /// Order    a client's bits are those of the trainer's step, whoever is trained beside it.
    virtual void train(const LocalTraining& plan, const Objective& objective, std::uint32_t round,
                       std::span<const RowClient> clients, aggregation::ConstParamSpan global,
                       std::span<ClientResult> results) = 0;

    /// A row's local model, [P]; written over by the next train().
    virtual aggregation::ParamSpan parameters_of(std::size_t row) = 0;
};

}  // namespace fedhive::clients
