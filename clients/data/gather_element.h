// One value of a batch, gathered and normalised; shared by host and device. BatchGather (batches.h) loops over it on the host,
// gather_kernel.cu on CUDA. C++17, plain pointers.
#pragma once

#include "aggregation/math/element_ops.h"
#include "clients/data/value_type.h"

namespace fedhive::clients::element {

/// value * scale + shift, never contracted to a fused multiply-add, so host and device give the same bits.
template <typename Value>
FEDHIVE_HOST_DEVICE float normalized(Value value, float scale, float shift) {
    return static_cast<float>(value) * scale + shift;
}

/// The augmentation drawn for one example: a shift within a border of zeros, then an optional mirroring.
/// Packed into 32 bits: down, right (15 bits each, biased by kBias), mirrored.
struct Transform {
    static constexpr std::int32_t kBias = 1 << 14;
    std::int32_t down = 0, right = 0;  // offset of the source pixel, in pixels
    bool mirrored = false;

    FEDHIVE_HOST_DEVICE std::uint32_t packed() const {
        return static_cast<std::uint32_t>(down + kBias) << 17 | static_cast<std::uint32_t>(right + kBias) << 1 |
               (mirrored ? 1U : 0U);
    }
    FEDHIVE_HOST_DEVICE static Transform of(std::uint32_t packed) {
        Transform transform;
        transform.down = static_cast<std::int32_t>(packed >> 17) - kBias;
        transform.right = static_cast<std::int32_t>(packed >> 1 & 0x7FFFU) - kBias;
        transform.mirrored = (packed & 1U) != 0;
        return transform;
    }

    /// Source row and column for output row y and column x. A row or column outside the image, also one below 0, which wraps to a large
    /// number, is in the border of zeros.
    FEDHIVE_HOST_DEVICE std::uint32_t row(std::uint32_t y) const { return y + static_cast<std::uint32_t>(down); }
    FEDHIVE_HOST_DEVICE std::uint32_t column(std::uint32_t x, std::uint32_t width) const {
        return (mirrored ? width - 1 - x : x) + static_cast<std::uint32_t>(right);
    }
};

/// Sources of a gathered batch; all pointers refer to one memory space.
struct GatherTerms {
    const void* values = nullptr;          // [n, num_values] of `type`
    const std::int32_t* labels = nullptr;  // [n, target_width]
    const std::uint32_t* order = nullptr;  // indices of examples
    /// The batch begins at order[*cursor], which is read when the batch is gathered; nullptr: at order[0].
    const std::int64_t* cursor = nullptr;
    const float* scale = nullptr;  // [num_values / plane], one per channel, for values of `type`
    const float* shift = nullptr;
    std::uint32_t num_values = 0;  // of one example
    std::uint32_t plane = 1;       // values of one channel
    ValueType type = ValueType::U8;
    const float* numbers = nullptr;             // [n, target_width], instead of labels
    std::uint32_t target_width = 1;             // labels or numbers per example
    const std::uint32_t* transforms = nullptr;  // packed Transform of each entry of `order`; nullptr: none
    std::uint32_t width = 1;                    // of an image
};

/// Destination of a batch's targets, [rows, target_width]; exactly one pointer is set.
struct TargetsTo {
    std::int64_t* labels = nullptr;
    float* numbers = nullptr;
};

/// Value `at` of example `example`, as stored.
template <typename Value>
FEDHIVE_HOST_DEVICE Value stored(const GatherTerms& from, std::size_t example, std::uint32_t at) {
    return static_cast<const Value*>(from.values)[example * from.num_values + at];
}

constexpr std::uint32_t kInFrame = ~0U;

/// Offset in the example of the pixel that `transform` moves to offset `at`, or kInFrame for the border of zeros.
FEDHIVE_HOST_DEVICE std::uint32_t source_offset(const GatherTerms& from, const Transform& transform, std::uint32_t at) {
    const std::uint32_t pixel = at % from.plane;
    const std::uint32_t y = transform.row(pixel / from.width), x = transform.column(pixel % from.width, from.width);
    return y < from.plane / from.width && x < from.width ? at - pixel + y * from.width + x : kInFrame;
}

/// Value `at` of the example at `place` in the order, augmented and normalised.
FEDHIVE_HOST_DEVICE float gathered(const GatherTerms& from, std::size_t place, std::uint32_t at) {
    const float scale = from.scale[at / from.plane], shift = from.shift[at / from.plane];
    if (from.transforms != nullptr) at = source_offset(from, Transform::of(from.transforms[place]), at);
    if (at == kInFrame) return normalized(0, scale, shift);
    const std::size_t example = from.order[place];
    return from.type == ValueType::U8    ? normalized(stored<std::uint8_t>(from, example, at), scale, shift)
           : from.type == ValueType::F32 ? normalized(stored<float>(from, example, at), scale, shift)
                                         : normalized(stored<std::int32_t>(from, example, at), scale, shift);
}

/// Writes value `at` of the batch's example `row`, and its targets at, at + num_values, … below target_width.
FEDHIVE_HOST_DEVICE void gather(const GatherTerms& from, std::size_t row, std::uint32_t at, float* values,
                                const TargetsTo& to) {
    const std::size_t place = (from.cursor == nullptr ? 0 : static_cast<std::size_t>(*from.cursor)) + row;
    const std::size_t example = from.order[place];
    values[row * from.num_values + at] = gathered(from, place, at);
    for (std::size_t one = at; one < from.target_width; one += from.num_values) {
        const std::size_t target = example * from.target_width + one, to_place = row * from.target_width + one;
        if (from.numbers != nullptr)
            to.numbers[to_place] = from.numbers[target];
        else
            to.labels[to_place] = from.labels[target];
    }
}

}  // namespace fedhive::clients::element
