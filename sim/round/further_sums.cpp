#include "sim/round/further_sums.h"

#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/vector_ops.h"

namespace fedhive::sim {

std::span<const aggregation::ConstParamSpan> FurtherSums::compute(const std::vector<std::vector<aggregation::Update>>& updates,
                                                                  const Combine& combine) {
    if (!updates.empty() && sum_ == nullptr) sum_ = aggregation::make_sum();
    sums_.clear();
    for (const std::vector<aggregation::Update>& rows : updates) {
        const aggregation::ConstParamSpan sum = combine(*sum_, rows).values;
        if (sums_.size() == buffers_.size()) buffers_.emplace_back(sum.size, sum.space);
        aggregation::copy(buffers_[sums_.size()], sum);
        sums_.push_back(buffers_[sums_.size()]);
    }
    return sums_;
}

}  // namespace fedhive::sim
