// A step of the direct engine beside the reference in double: loss, gradient and evaluation of every set of kernels and of a block of threads; and
// beside itself, bit for bit.
#pragma once

#include "tests/support/drawn_lists/generator.h"
#include "tests/support/drawn_lists/reference.h"

#include <span>
#include <string>

namespace fedhive::testing {

/// How far a gradient, [P], is off, as a part of what it should be: of the tensor where that is most, by Euclidean length. A tensor that is less
/// than a hundredth of the whole, or of what it would be if none of its terms cancelled, counts as that hundredth: rounding is measured by these.
double difference(const aggregation::Layout& layout, std::span<const double> found, const Reference::Result& expected);

/// What a float's rounding may come to. Of ten thousand lists four are beyond 1e-4, norms of values that are all but equal behind each other; a
/// wrong slope or a wrong value is off by a hundredth and more.
inline constexpr double kMostInFloat = 1e-3;

struct Comparison {
    std::string fault;  // what differs, empty: nothing
    double worst =
        0.0;  // difference from the reference: of a gradient as above, of a loss as a part of it, or of 1 where it is less
    bool near_edge = false;  // then only bits were compared: rounding may decide which way a slope jumps
};

Comparison compare(const DrawnStep& step);

}  // namespace fedhive::testing
