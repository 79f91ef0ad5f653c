// Gathers a batch: copies the values and targets of examples by index and normalises the values.
#pragma once

#include "clients/data/dataset.h"
#include "clients/data/gather_element.h"

#include <array>
#include <span>
#include <vector>

namespace fedhive::clients {

/// Normalisation: value * scale[c] + shift[c] in float, with the same bits on every processor.
///
/// scale and shift are computed in double and rounded once; scale differs between value types (bytes, floats, tokens).
/// A token becomes its number as a float, exact up to 2^24.
class BatchGather {
public:
    /// Throws ConfigError if a list's length is not 0, 1 or shape.channels, a std is not > 0, a number is not finite, or the
    /// examples are tokens and a list is not empty.
    BatchGather(ExampleShape shape, const Normalization& normalization);

    /// Writes the batch's normalised values and its targets.
    ///
    /// values      [indices.size(), channels, height, width]
    /// to          labels or numbers, whichever the examples have: [indices.size(), width of the target]
    /// transforms  the augmentation of each index (transforms.h), or none
    /// next        the indices of the following batch as far as they are known, for prefetching
    ///
    /// Throws   Fault if an index is outside of `examples` or they are of another shape.
    /// Cost     5 bytes moved per value, 8 if the examples are floats; no allocation.
    void gather(const ExamplesView& examples, std::span<const std::uint32_t> indices, float* values,
                const element::TargetsTo& to, std::span<const std::uint32_t> transforms = {},
                std::span<const std::uint32_t> next = {}) const;

    /// Prefetches into the cache the first of these examples, in host memory, which will be gathered soon.
    void expect(const ExamplesView& examples, std::span<const std::uint32_t> indices) const;

    std::span<const float> scale(ValueType type) const { return scales_.at(static_cast<std::size_t>(type)); }
    std::span<const float> shift() const { return shift_; }

private:
    void gather_examples(const ExamplesView& examples, std::span<const std::uint32_t> indices, float* values,
                         std::span<const std::uint32_t> transforms, std::span<const std::uint32_t> next) const;
    template <typename Value>
    void gather_values(const ExamplesView& examples, std::span<const std::uint32_t> indices, float* values,
                       std::span<const std::uint32_t> next) const;
    template <typename Value>
    void gather_transformed(const ExamplesView& examples, std::span<const std::uint32_t> indices, float* values,
                            std::span<const std::uint32_t> transforms, std::span<const std::uint32_t> next) const;

    ExampleShape shape_;
    bool alike_ = false;                        // one scale and shift for all channels
    std::array<std::vector<float>, 3> scales_;  // by ValueType, [channels]
    std::vector<float> shift_;                  // [channels]
};

/// gather() between buffers in device memory, with the same bits; enqueued, not awaited. The indices in
/// `from.order` have been checked.
void gather_on_device(const element::GatherTerms& from, std::size_t rows, float* values, const element::TargetsTo& to);

}  // namespace fedhive::clients
