// Personal mixtures: what each client of a round keeps of the others' updates, by a method's formulas (formula_mix.h).
#pragma once

#include "aggregation/formulas/formula_mix.h"
#include "aggregation/math/aggregator.h"
#include "aggregation/memory/client_states.h"
#include "sim/round/attackers.h"
#include "sim/round/flight.h"
#include "sim/round/weighing.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace fedhive::sim {

/// For a round's K updates: the mean loss of update j's model on the examples of update i's client, at i K + j. Only called where the
/// method reads it.
using TakeLosses = std::function<std::vector<double>()>;

class Mixing {
public:
    /// Mixes nothing.
    Mixing() = default;
    /// Mixes nothing where the method has no `mix`.
    Mixing(const aggregation::formulas::MethodFormulas& method, const aggregation::formulas::ServerScene& scene);

    bool any() const { return mix_.has_value(); }

    /// Changes the memories of each client whose update counts, as a server mixes them. Call when the visits have changed them, and
    /// before the slots are freed.
    ///
    /// sent      the region that the clients got
    /// combine   as the strategy's aggregator is called: workers and ranks take part in each sum
    /// Cost      K sums over K updates
    /// Order     clients ascending; a sum has the bits of an aggregator's with these weights
    /// Process   the coordinator; with several ranks, all of them, and each changes the clients it trained
    void mix(const Arrivals& arrived, std::int64_t round, aggregation::ConstParamSpan sent, const Weighing& weighing,
             const TakeProducts& products, const TakeLosses& losses, const Combine& combine, aggregation::ClientStates& states);

private:
    std::optional<aggregation::formulas::FormulaMix> mix_{};
    std::unique_ptr<aggregation::Aggregator> sum_{};
    std::uint64_t num_clients_ = 0;
    bool takes_products_ = false;
};

}  // namespace fedhive::sim
