// PrivUnit: J. Bhowmick et al. 2018, arXiv:1812.00984, Algorithm 1: a unit vector u becomes a random vector whose mean is u.
//
//   V   uniform on the cap {v: ⟨v, u⟩ >= γ} of the unit sphere of R^d with probability p, else uniform on the rest of the sphere
//   Z = V / m,   m = E⟨V, u⟩ = c (p / q - (1 - p) / (1 - q)),   c = (1 - γ²)^α / ((d - 1) B(α, 1/2)),   α = (d - 1) / 2
//
// q is the cap's share of the sphere, 1/2 I_(1-γ²)(α, 1/2). With B(α, α) = 2^(2-d) B(α, 1/2), m is the paper's m. V's density has only two
// values, so Z is ε-differentially private with ε = ln(p / (1 - p)) + ln((1 - q) / q), for all u and without a δ.
#pragma once

#include "aggregation/base/random.h"

#include <cstdint>

namespace fedhive::clients {

struct PrivUnit {
    double dimension = 0.0;  // d
    double cap = 0.0;        // γ
    double in_cap = 0.5;     // p
    double log_share = 0.0;  // ln q
    double mean = 1.0;       // m
};

/// The γ and p with this ε for which m is largest, and so Z shortest, by golden section search over γ.
///
/// Shapes   dimension: at least 2; epsilon: above 0.
/// Order    +, -, *, /, √ and own exp and ln: the same bits on every processor. Cost: milliseconds, √d.
PrivUnit priv_unit_of(std::uint64_t dimension, double epsilon);

/// ln P(⟨v, u⟩ >= t) for v uniform on the unit sphere of R^dimension and a unit vector u; t in [0, 1).
double log_share_of_cap(double dimension, double t);

/// A draw of ⟨V, u⟩, from two uniform draws by the inverse of its distribution function.
double draw_of_cap(const PrivUnit& unit, Stream& draws);

}  // namespace fedhive::clients
