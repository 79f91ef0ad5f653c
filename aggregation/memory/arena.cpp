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
    const std::size_t offset = geometry_.exchange_offset() + index * geometry_.exchange_bytes();
    return {reinterpret_cast<float*>(base_ + offset), geometry_.exchange_floats, space_};
}

ParamSpan Arena::kept(std::size_t index) const {
    FEDHIVE_CHECK(index < geometry_.num_slots, "kept {} of {}", index, geometry_.num_slots);
    const std::size_t offset = geometry_.kept_offset() + index * geometry_.kept_bytes();
    return {reinterpret_cast<float*>(base_ + offset), geometry_.kept_floats, space_};
}

ParamSpan Arena::aggregate() const {
    FEDHIVE_CHECK(geometry_.num_aggregates == 1, "the arena has no room for an aggregate");
    return span_at(geometry_.aggregate_offset());
}

std::span<double> Arena::products() const {
    FEDHIVE_CHECK(space_ == MemorySpace::Host, "inner products are stored in host memory");
    return {reinterpret_cast<double*>(base_ + geometry_.products_offset()), geometry_.num_products};
}

ParamSpan Arena::frozen() const {
    if (geometry_.frozen_floats == 0) return {nullptr, 0, space_};
    return {reinterpret_cast<float*>(base_ + geometry_.frozen_offset()), geometry_.frozen_floats, space_};
}

ParamSpan Arena::region(std::size_t index) const { return span_at(index * geometry_.stride_bytes()); }

}  // namespace fedhive::aggregation
