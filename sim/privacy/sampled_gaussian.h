// Rényi differential privacy (RDP) of the sampled Gaussian mechanism: one server step with `clip` and `gaussian_noise`; only
// the sum of its updates is seen.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fedhive::sim {

/// A sum of vectors of norm at most S, each of them in it with probability q independently of the others (Poisson sampling), plus
/// normal noise of standard deviation z · S. Neighbours differ by one vector more or less.
struct SampledGaussian {
    double share = 1.0;       // q, in (0, 1]
    double multiplier = 1.0;  // z, above 0
};

/// The orders α > 1, ascending; the best one counts: tenths up to 10.9, whole numbers up to 63, then up to 1024.
std::span<const double> rdp_orders();

/// RDP of one step at order α > 1: log(A) / (α - 1) with A = E[((1 - q) + q exp((2x - 1) / (2z²)))^α], x normal with mean 0 and
/// standard deviation z (Mironov, Talwar and Zhang 2019, arXiv:1908.10530, section 3.3). α may be a fraction. The expectation is
/// a sum over a grid whose error is below f64's rounding. Cost: about 600 exponentials, more where α is large for z.
double rdp(const SampledGaussian& step, double order);

/// ε at `delta` from the RDP of each order of rdp_orders(): the least of r + log((α - 1) / α) - log(δ α) / (α - 1) (Canonne, Kamath
/// and Steinke 2020, arXiv:2004.00010, Proposition 12), and 0 where δ² ≥ 1 - exp(-r) (Bretagnolle and Huber). At least 0.
double epsilon_of(std::span<const double> rdp_of_orders, double delta);

}  // namespace fedhive::sim
