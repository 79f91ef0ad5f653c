// The quantile of the standard normal distribution.
#pragma once

namespace fedhive {

/// Φ⁻¹(p): the x with Φ(x) = p, for p in (0, 1); throws Fault for another p.
///
/// Order    bisection of Φ(x) = erfc(−x / √2) / 2 until no double lies between the ends.
double normal_quantile(double p);

}  // namespace fedhive
