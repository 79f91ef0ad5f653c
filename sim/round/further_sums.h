// Further weighted sums of a round's updates, beside its aggregate, for a server's formulas (MethodFormulas::num_further).
#pragma once

#include "aggregation/math/aggregator.h"
#include "aggregation/memory/param_buffer.h"
#include "sim/round/attackers.h"

#include <deque>
#include <memory>
#include <span>
#include <vector>

namespace fedhive::sim {

class FurtherSums {
public:
    /// Returns Σ scale · update for each list of updates; valid until the next call.
    ///
    /// combine  calls an aggregator as for the strategy's: workers and ranks share each sum
    /// Order    of additions: as in Aggregator
    /// Memory   one vector of an update's size for each sum
    std::span<const aggregation::ConstParamSpan> compute(const std::vector<std::vector<aggregation::Update>>& updates,
                                                         const Combine& combine);

private:
    std::unique_ptr<aggregation::Aggregator> sum_{};
    std::deque<aggregation::ParamBuffer> buffers_{};
    std::vector<aggregation::ConstParamSpan> sums_{};
};

}  // namespace fedhive::sim
