// From indices to a batch: gathers bytes and turns them into normalised floats on the way.
#pragma once

#include "clients/data/dataset.h"

#include <span>
#include <vector>

namespace fedhive::clients {

/// Normalisation as value = byte * scale[c] + shift[c] in float; scale and shift are computed in double and rounded once. Same bits on
/// every processor.
class BatchGather {
public:
    /// Throws ConfigError when the lists' lengths are neither 0, 1 nor shape.channels, a std is not > 0, or a number is not finite.
    BatchGather(ExampleShape shape, const Normalization& normalization);

    /// values: [indices.size(), channels, height, width]; labels: [indices.size()].
    ///
    /// Throws   Fault when an index lies outside `examples` or they are of another shape.
    /// Cost     5 bytes moved a value, no allocation.
    void gather(const ExamplesView& examples, std::span<const std::uint32_t> indices, float* values,
                std::int64_t* labels) const;

private:
    ExampleShape shape_;
    std::vector<float> scale_;  // [channels]
    std::vector<float> shift_;  // [channels]
};

}  // namespace fedhive::clients
