// Standard normals in bulk, for the noise of data sets.
#pragma once

#include "aggregation/base/random.h"

#include <span>

namespace fedhive {

/// to[i] = the value of call i of stream.normal(), bit by bit. Nothing may have been drawn from `stream` before.
///
/// Cost     less than normal(): Philox, squares and roots of many attempts at once; no allocation.
/// Source   Marsaglia and Bray 1964, doi:10.1137/1006063 (the polar method).
void fill_normals(const Stream& stream, std::span<double> to);

}  // namespace fedhive
