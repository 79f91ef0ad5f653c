// Rearrangements of sequences in a graph: which of a sequence's values a view, a transpose or a part of it has, and in which order. Attention
// is written with many of them.
#pragma once

#include "clients/models/layer_kind.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::clients {

/// A size of a value: a number, or a multiple of the number of examples; -1: the rest.
struct ArrangedSize {
    std::int64_t number = 1;
    bool examples = false;

    bool operator==(const ArrangedSize&) const = default;
};

/// The values of a sequence [examples, positions, features] in another order.
struct Arranged {
    /// An index in [0, size) that moves by `stride` values of an example, or the number of the example.
    struct Part {
        std::int64_t size = 1, stride = 0;
        bool examples = false;

        bool operator==(const Part&) const = default;
    };
    using Dimension = std::vector<Part>;  // parts from the outermost; none: size 1

    std::string of;           // the sequence
    std::int64_t offset = 0;  // of its first value here
    std::vector<Dimension> dimensions{};
    double times = 1.0;   // what the values are multiplied by
    bool shared = false;  // other values alias its memory

    bool has_same_order(const Arranged& other) const { return offset == other.offset && dimensions == other.dimensions; }
    ArrangedSize size(std::size_t dimension) const;

    /// `dimension`, counted from the end if negative, as an index; none if there is no such dimension.
    std::optional<std::size_t> index(std::int64_t dimension) const;
};

/// A sequence in its own order, and its parts [examples, heads, positions, width], beginning with feature `first`.
Arranged whole_sequence(const std::string& of, std::int64_t positions, std::int64_t features);
Arranged in_heads(const std::string& of, std::int64_t positions, std::int64_t features, std::int64_t heads, std::int64_t width,
                  std::int64_t first);

// Each returns the result, or nothing if it is no order of the sequence's values, or the arguments do not fit.

std::optional<Arranged> viewed(const Arranged& from, const std::vector<ArrangedSize>& sizes);
std::optional<Arranged> permuted(const Arranged& from, const std::vector<std::int64_t>& order);
std::optional<Arranged> swapped(const Arranged& from, std::int64_t one, std::int64_t other);
std::optional<Arranged> flattened(const Arranged& from, std::int64_t first, std::int64_t last);
std::optional<Arranged> unflattened(const Arranged& from, std::int64_t dimension, const std::vector<ArrangedSize>& sizes);
std::optional<Arranged> selected(const Arranged& from, std::int64_t dimension, std::int64_t index);
std::optional<Arranged> unsqueezed(const Arranged& from, std::int64_t dimension);
std::optional<Arranged> squeezed(const Arranged& from, std::int64_t dimension);
/// Indices [begin, begin + count) of a dimension.
std::optional<Arranged> sliced(const Arranged& from, std::int64_t dimension, std::int64_t begin, std::int64_t count);

}  // namespace fedhive::clients
