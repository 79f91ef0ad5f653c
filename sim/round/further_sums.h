// Sums of a round's updates by further weights, beside its aggregate, for a server's formulas (MethodFormulas::num_further).
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
    /// One sum for each list of updates, with their scales; valid until the next call.
    ///
    /// combine  as the strategy's aggregator is called: workers and ranks take part in each sum
    /// Order    as an aggregator's
    /// Memory   a region, [R], for each sum
    std::span<const aggregation::ConstParamSpan> take(const std::vector<std::vector<aggregation::Update>>& updates,
                                                      const Combine& combine);

private:
    std::unique_ptr<aggregation::Aggregator> sum_{};
    std::deque<aggregation::ParamBuffer> rooms_{};
    std::vector<aggregation::ConstParamSpan> sums_{};
};

}  // namespace fedhive::sim
