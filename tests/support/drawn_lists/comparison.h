// A step of the direct engine against the reference in double: loss, gradient and evaluation by every kernel set and by a
// thread block; and against each other bit for bit.
#pragma once

#include "tests/support/drawn_lists/generator.h"
#include "tests/support/drawn_lists/reference.h"

#include <span>
#include <string>

namespace fedhive::testing {

/// Largest relative error over the tensors of a gradient, [trainable], by Euclidean norm.
///
/// A tensor's norm counts as at least a hundredth of the whole gradient's, and of what it would be without cancellation:
/// rounding errors scale with these.
double difference(const aggregation::Layout& layout, std::span<const double> found, const Reference::Result& expected);

/// Bound for rounding errors in float. Successive norms of nearly equal values magnify them, batch norm of a few examples most: of
/// 1,500 lists one exceeds 1e-3. A wrong slope or value is off by a hundredth or more.
inline constexpr double kMostInFloat = 3e-3;

struct Comparison {
    std::string fault;       // description of a difference; empty: none
    double worst = 0.0;      // largest relative error: of a gradient as above, of a loss relative to max(|loss|, 1)
    bool near_edge = false;  // only bits were compared: rounding may decide at which side of an edge a slope is
};

Comparison compare(const DrawnStep& step);

}  // namespace fedhive::testing
