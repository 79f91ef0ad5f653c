#include "aggregation/math/sum_rows.h"

#include "aggregation/base/error.h"
#include "aggregation/math/vector_ops.h"

#include <algorithm>

namespace fedhive::aggregation {

std::span<const float* const> SumRows::columns(std::span<const ConstParamSpan> values, std::span<const ConstParamSpan> kept,
                                               std::size_t first, std::size_t count) {
    FEDHIVE_CHECK_EQ(kept.size(), values.size());
    const MemorySpace space = values.front().space;
    const bool sums = std::any_of(kept.begin(), kept.end(), [](const ConstParamSpan& one) { return one.size > 0; });
    if (const std::size_t wanted = sums ? values.size() * count : 0; sums_.span().size < wanted || sums_.span().space != space)
        sums_ = ParamBuffer(wanted, space);
    rows_.clear();
    for (std::size_t k = 0; k < values.size(); ++k) {
        if (kept[k].size == 0) {
            rows_.push_back(values[k].part(first, count).data);
            continue;
        }
        const ParamSpan sum = sums_.span().part(k * count, count);
        copy(sum, kept[k].part(first, count));
        add(sum, values[k].part(first, count));
        rows_.push_back(sum.data);
    }
    return rows_;
}

}  // namespace fedhive::aggregation
