// What happens to one value of a batch, once, for host and device: BatchGather (batches.h) loops over it on the host, gather_kernel.cu on
// CUDA. C++17, plain pointers.
#pragma once

#include "aggregation/math/element_ops.h"
#include "clients/data/value_type.h"

namespace fedhive::clients::element {

/// Uncontracted, so that either side gives the same bits.
template <typename Value>
FEDHIVE_HOST_DEVICE float normalized(Value value, float scale, float shift) {
    return static_cast<float>(value) * scale + shift;
}

/// What a batch is gathered from; all pointers lie in one memory space.
struct GatherTerms {
    const void* values;          // [n, num_values] of `type`
    const std::int32_t* labels;  // [n, target_width]
    const std::uint32_t* order;  // indices of examples
    const std::int64_t*
        cursor;          // where in `order` the batch begins, read when the batch is gathered; nullptr: where `order` points
    const float* scale;  // [num_values / plane], one a channel, for values of `type`
    const float* shift;
    std::uint32_t num_values;  // of one example
    std::uint32_t plane;       // of one channel
    ValueType type;
    const float* numbers = nullptr;  // [n, target_width] in place of labels
    std::uint32_t target_width = 1;  // labels, or numbers, of an example
};

/// Where the targets of a batch go, [rows, target_width].
struct TargetsTo {
    std::int64_t* labels;
    float* numbers;  // where the terms have numbers
};

/// The value of example `example` at `at`, as it is stored.
template <typename Value>
FEDHIVE_HOST_DEVICE Value stored(const GatherTerms& from, std::size_t example, std::uint32_t at) {
    return static_cast<const Value*>(from.values)[example * from.num_values + at];
}

/// Value `at` of example `example`, normalised.
FEDHIVE_HOST_DEVICE float gathered(const GatherTerms& from, std::size_t example, std::uint32_t at) {
    const float scale = from.scale[at / from.plane], shift = from.shift[at / from.plane];
    return from.type == ValueType::U8    ? normalized(stored<std::uint8_t>(from, example, at), scale, shift)
           : from.type == ValueType::F32 ? normalized(stored<float>(from, example, at), scale, shift)
                                         : normalized(stored<std::int32_t>(from, example, at), scale, shift);
}

/// Value `at` of the batch's example `row`, and its target `at`, as far as there are; of more targets than values, every num_values-th from there.
FEDHIVE_HOST_DEVICE void gather(const GatherTerms& from, std::size_t row, std::uint32_t at, float* values,
                                const TargetsTo& to) {
    const std::size_t example = from.order[(from.cursor == nullptr ? 0 : static_cast<std::size_t>(*from.cursor)) + row];
    values[row * from.num_values + at] = gathered(from, example, at);
    for (std::size_t one = at; one < from.target_width; one += from.num_values) {
        const std::size_t target = example * from.target_width + one, place = row * from.target_width + one;
        if (from.numbers != nullptr)
            to.numbers[place] = from.numbers[target];
        else
            to.labels[place] = from.labels[target];
    }
}

}  // namespace fedhive::clients::element
