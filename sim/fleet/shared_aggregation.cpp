#include "sim/fleet/shared_aggregation.h"

#include "aggregation/base/divide_up.h"
#include "aggregation/base/error.h"

namespace fedhive::sim {

using aggregation::Aggregate;
using aggregation::Update;

std::uint64_t num_ranges(const aggregation::ArenaGeometry& arena) {
    return arena.num_aggregates * divide_up(arena.num_floats, kRangeFloats);
}

void SharedAggregator::zero_init(std::size_t num_floats, aggregation::MemorySpace space) {
    FEDHIVE_CHECK_EQ(num_floats, arena_.geometry().num_floats);
    updates_.clear();
    rule_.zero_init(0, space);
}

void SharedAggregator::aggregate(const Update& update) {
    Update without_values = update;
    without_values.values = update.values.part(0, 0);
    rule_.aggregate(without_values);
    updates_.push_back(update);
}

Aggregate SharedAggregator::finish() {
    Aggregate result = rule_.finish();
    work_(rule_, updates_);
    result.values = arena_.aggregate();
    return result;
}

}  // namespace fedhive::sim
