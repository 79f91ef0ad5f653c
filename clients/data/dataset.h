// A data set: examples of one type and what is to be told of them, for training and for testing. It exists once in a run, in a shared segment
// that every process maps read-only; a client's shard is a list of example indices.
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
    std::int64_t vocabulary = 0;  // values are tokens, whole numbers from 0 below it; 0: they are numbers

    std::size_t num_values() const { return static_cast<std::size_t>(channels * height * width); }
    bool operator==(const ExampleShape&) const = default;
};

/// One part (training or test) as it is read or drawn, before it moves into the shared segment.
struct Examples {
    ExampleShape shape;
    std::vector<std::uint8_t> values;  // the bytes of [n, channels, height, width]
    std::vector<std::int32_t> labels;  // [n, target.width], each in [0, num_classes); none where targets are numbers
    ValueType type = ValueType::U8;
    std::vector<std::uint32_t>
        owners{};  // [n]: whose each is, from 0 in the order of the owners' own numbers; empty: nobody knows
    TargetShape target{};
    std::vector<float> numbers{};  // [n, target.width] in place of labels

    std::size_t size() const { return (labels.size() + numbers.size()) / target.width; }
};

/// What looks like a mistake (warnings.h), and the key of `data` to look at.
struct DataWarning {
    std::string key;
    std::string text;
};

struct Dataset {
    Examples train;
    Examples test;
    std::int64_t num_classes = 0;       // 0 where targets are numbers
    bool rounded = false;               // f32 that were f64 where they came from
    std::uint32_t owners_left_out = 0;  // who had no training example
    std::vector<DataWarning> warnings{};
    std::vector<std::string> owner_names{};  // of each owner of training examples; empty: they have numbers alone
    std::uint64_t fingerprint() const;       // of types, shapes, labels, values and owners; stored in the manifest
};

/// How training examples are changed anew in each epoch (looks.h); they are images.
struct Augmentation {
    std::uint32_t padding = 0;  // pixels of 0 around an image, out of which one of its own size is cut; 0: it stays where it is
    bool flip = false;          // every second image is mirrored, left to right

    static constexpr std::uint32_t kMostPadding = 1000;
    bool any() const { return padding > 0 || flip; }
};

/// Read-only view of one part in the shared segment, or of its copy in device memory, which this process's CPU cannot read.
struct ExamplesView {
    ExampleShape shape;
    std::span<const std::uint8_t> values;  // bytes
    std::span<const std::int32_t> labels;  // [size(), target.width], or none
    aggregation::MemorySpace space = aggregation::MemorySpace::Host;
    ValueType type = ValueType::U8;
    TargetShape target{};
    std::span<const float> numbers{};  // [size(), target.width], or none
    Augmentation augmentation{};       // for training alone: whoever evaluates sees examples as they are

    std::size_t size() const { return (labels.size() + numbers.size()) / target.width; }
    std::size_t example_bytes() const { return shape.num_values() * bytes_of(type); }
    std::span<const std::uint8_t> example(std::size_t index) const {
        return values.subspan(index * example_bytes(), example_bytes());
    }
};

/// How values become what a model gets, per channel: (value - mean) / std, where a byte's value is byte / 255. Empty lists mean 0 and 1. Tokens
/// stay what they are, and take none.
struct Normalization {
    std::vector<double> mean;
    std::vector<double> std;
};

}  // namespace fedhive::clients
