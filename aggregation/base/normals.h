// Many standard normals at a time, as a data set's noise needs them.
#pragma once

#include "aggregation/base/random.h"

#include <span>

namespace fedhive {

/// The values that as many calls of stream.normal() would give, bit by bit, where the stream has not been drawn from.
///
/// Cost     less than normal(): Philox, squares and roots of many attempts at once; no allocation.
/// Source   Marsaglia and Bray 1964, doi:10.1137/1006063 (the polar method).
void fill_normals(const Stream& stream, std::span<double> to);

}  // namespace fedhive
