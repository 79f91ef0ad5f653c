// A data set: examples as bytes and their labels, for training and for testing. It exists once in a run, in a shared segment that every
// process maps read-only; a client's shard is a list of example indices.
#pragma once

#include "aggregation/memory/param_span.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fedhive::clients {

/// Shape of one example, channels first. A vector of n features is {n, 1, 1}.
struct ExampleShape {
    std::int64_t channels = 1;
    std::int64_t height = 1;
    std::int64_t width = 1;

    std::size_t num_values() const { return static_cast<std::size_t>(channels * height * width); }
    bool operator==(const ExampleShape&) const = default;
};

/// One part (training or test) as it is read or drawn, before it moves into the shared segment.
struct Examples {
    ExampleShape shape;
    std::vector<std::uint8_t> values;  // [n, channels, height, width]
    std::vector<std::int32_t> labels;  // [n], each in [0, num_classes)

    std::size_t size() const { return labels.size(); }
};

struct Dataset {
    Examples train;
    Examples test;
    std::int64_t num_classes = 0;
    std::uint64_t fingerprint() const;  // of shapes, labels and values; stored in the manifest
};

/// Read-only view of one part in the shared segment, or of its copy in device memory, which this process's CPU cannot read.
struct ExamplesView {
    ExampleShape shape;
    std::span<const std::uint8_t> values;
    std::span<const std::int32_t> labels;
    aggregation::MemorySpace space = aggregation::MemorySpace::Host;

    std::size_t size() const { return labels.size(); }
    std::span<const std::uint8_t> example(std::size_t index) const {
        return values.subspan(index * shape.num_values(), shape.num_values());
    }
};

/// How bytes become floats, per channel: (byte / 255 - mean) / std. Empty lists mean 0 and 1.
struct Normalization {
    std::vector<double> mean;
    std::vector<double> std;
};

}  // namespace fedhive::clients
