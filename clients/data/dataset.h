// A data set: training and test examples of one type, with their targets. It exists once in a run, in a shared segment that
// every process maps read-only; a client's shard is a list of example indices.
#pragma once

#include "aggregation/memory/param_span.h"
#include "clients/data/target.h"
#include "clients/data/value_type.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fedhive::clients {

/// Shape of one example, channels first. A vector of n features is {n, 1, 1}, a sequence of n tokens {n, 1, 1, vocabulary}.
struct ExampleShape {
    std::int64_t channels = 1;
    std::int64_t height = 1;
    std::int64_t width = 1;
    std::int64_t vocabulary = 0;  // > 0: values are tokens in [0, vocabulary); 0: values are numbers

    std::size_t num_values() const { return static_cast<std::size_t>(channels * height * width); }
    bool operator==(const ExampleShape&) const = default;
};

/// One part (training or test) as read or drawn, before it is copied into the shared segment.
struct Examples {
    ExampleShape shape;
    std::vector<std::uint8_t> values;  // the bytes of [n, channels, height, width]
    std::vector<std::int32_t> labels;  // [n, target.width], each in [0, num_classes) or kIgnored; empty if targets are numbers
    ValueType type = ValueType::U8;
    std::vector<std::uint32_t> owners{};  // [n]: owner of each, from 0 in the order that the format defines; empty: unknown
    TargetShape target{};
    std::vector<float> numbers{};  // [n, target.width], instead of labels

    std::size_t size() const { return (labels.size() + numbers.size()) / target.width; }
};

/// A likely mistake in the data (data_warnings.h), and the key of `data` that it concerns.
struct DataWarning {
    std::string key;
    std::string text;
};

struct Dataset {
    Examples train;
    Examples test;
    std::int64_t num_classes = 0;       // 0 if targets are numbers
    std::size_t num_triggered = 0;      // test examples at the end that carry a backdoor's trigger (poison.h)
    bool rounded = false;               // values were rounded from f64 to f32
    std::uint32_t owners_left_out = 0;  // owners without a training example
    std::vector<DataWarning> warnings{};
    std::vector<std::string> owner_names{};  // a name for each owner of training examples; empty: owners have numbers only
    std::uint64_t fingerprint() const;       // of types, shapes, targets, values and owners; stored in the manifest
};

/// Random changes to training images, drawn for each epoch (transforms.h).
struct Augmentation {
    std::uint32_t padding = 0;  // zero pixels added on each side before a crop of the original size; 0: no crop
    bool flip = false;          // mirror an image left to right with probability 1/2

    static constexpr std::uint32_t kMostPadding = 1000;
    bool any() const { return padding > 0 || flip; }
};

/// Read-only view of one part in the shared segment, or of its copy in device memory, which host code must not read.
struct ExamplesView {
    ExampleShape shape;
    std::span<const std::uint8_t> values;  // bytes
    std::span<const std::int32_t> labels;  // [size(), target.width], or none
    aggregation::MemorySpace space = aggregation::MemorySpace::Host;
    ValueType type = ValueType::U8;
    TargetShape target{};
    std::span<const float> numbers{};  // [size(), target.width], or none
    Augmentation augmentation{};       // training only; evaluation sees examples unchanged

    std::size_t size() const { return (labels.size() + numbers.size()) / target.width; }
    std::size_t example_bytes() const { return shape.num_values() * bytes_of(type); }
    std::span<const std::uint8_t> example(std::size_t index) const {
        return values.subspan(index * example_bytes(), example_bytes());
    }
};

/// Normalisation per channel: (value - mean) / std, where a byte counts as byte / 255. Empty lists mean 0 and 1. Tokens are
/// not normalised; their lists must be empty.
struct Normalization {
    std::vector<double> mean;
    std::vector<double> std;
};

}  // namespace fedhive::clients
