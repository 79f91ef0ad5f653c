// From indices to a batch: gathers values and turns them into normalised floats on the way.
#pragma once

#include "clients/data/dataset.h"
#include "clients/data/gather_element.h"

#include <array>
#include <span>
#include <vector>

namespace fedhive::clients {

/// Normalisation as value * scale[c] + shift[c] in float; scale, which is another for bytes than for floats, and shift are computed in double
/// and rounded once. Same bits on every processor. A token is a float with its number, which one holds exactly up to 2^24.
class BatchGather {
public:
    /// Throws ConfigError when the lists' lengths are neither 0, 1 nor shape.channels, a std is not > 0, a number is not finite, or the examples
    /// are tokens and a list is not empty.
    BatchGather(ExampleShape shape, const Normalization& normalization);

    /// values: [indices.size(), channels, height, width]; targets, labels or numbers as the examples have: [indices.size(), width of the target];
    /// looks: one for each index (looks.h), or none; next: what is gathered after them, as far as it is known, whose bytes are then near.
    ///
    /// Throws   Fault when an index lies outside `examples` or they are of another shape.
    /// Cost     5 bytes moved a value, 8 of floats; no allocation.
    void gather(const ExamplesView& examples, std::span<const std::uint32_t> indices, float* values,
                const element::TargetsTo& to, std::span<const std::uint32_t> looks = {},
                std::span<const std::uint32_t> next = {}) const;

    /// These are gathered soon, of examples on the host: the first of them are brought near meanwhile.
    void expect(const ExamplesView& examples, std::span<const std::uint32_t> indices) const;

    std::span<const float> scale(ValueType type) const { return scales_.at(static_cast<std::size_t>(type)); }
    std::span<const float> shift() const { return shift_; }

private:
    void gather_examples(const ExamplesView& examples, std::span<const std::uint32_t> indices, float* values,
                         std::span<const std::uint32_t> looks, std::span<const std::uint32_t> next) const;
    template <typename Value>
    void gather_values(const ExamplesView& examples, std::span<const std::uint32_t> indices, float* values,
                       std::span<const std::uint32_t> next) const;
    template <typename Value>
    void gather_seen(const ExamplesView& examples, std::span<const std::uint32_t> indices, float* values,
                     std::span<const std::uint32_t> looks, std::span<const std::uint32_t> next) const;

    ExampleShape shape_;
    bool alike_ = false;                        // all channels
    std::array<std::vector<float>, 3> scales_;  // by type, [channels]
    std::vector<float> shift_;                  // [channels]
};

/// The same from and to device memory, with the same bits; enqueued. The indices in `from.order` have been checked.
void gather_on_device(const element::GatherTerms& from, std::size_t rows, float* values, const element::TargetsTo& to);

}  // namespace fedhive::clients
