#include "aggregation/memory/arena.h"

#include "aggregation/base/error.h"

namespace fedhive::aggregation {

ParamSpan Arena::global(std::size_t index) const {
    FEDHIVE_CHECK(index < geometry_.num_globals, "global {} of {}", index, geometry_.num_globals);
    return region(index);
}

ParamSpan Arena::slot(std::size_t index) const {
    FEDHIVE_CHECK(index < geometry_.num_slots, "slot {} of {}", index, geometry_.num_slots);
    return region(geometry_.num_globals + index);
}

ParamSpan Arena::exchange(std::size_t index) const {
    FEDHIVE_CHECK(index < geometry_.num_slots, "exchange {} of {}", index, geometry_.num_slots);
    const std::size_t before = (geometry_.num_globals + geometry_.num_slots) * geometry_.stride_bytes();
    return {reinterpret_cast<float*>(base_ + before + index * geometry_.exchange_bytes()), geometry_.exchange_floats, space_};
}

ParamSpan Arena::region(std::size_t index) const {
    return {reinterpret_cast<float*>(base_ + index * geometry_.stride_bytes()), geometry_.num_floats, space_};
}

}  // namespace fedhive::aggregation
