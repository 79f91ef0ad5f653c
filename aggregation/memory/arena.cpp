#include "aggregation/memory/arena.h"

#include "aggregation/base/error.h"

namespace fedhive::aggregation {

ParamSpan Arena::global(std::size_t index) const {
    FEDHIVE_CHECK(index < ArenaGeometry::kNumGlobals, "global {} of {}", index, ArenaGeometry::kNumGlobals);
    return region(index);
}

ParamSpan Arena::slot(std::size_t index) const {
    FEDHIVE_CHECK(index < geometry_.num_slots, "slot {} of {}", index, geometry_.num_slots);
    return region(ArenaGeometry::kNumGlobals + index);
}

ParamSpan Arena::region(std::size_t index) const {
    return {reinterpret_cast<float*>(base_ + index * geometry_.stride_bytes()), geometry_.num_floats, space_};
}

}  // namespace fedhive::aggregation
