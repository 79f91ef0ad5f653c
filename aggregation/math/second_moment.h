// The second moment of adaptive server optimisers: S. J. Reddi et al. 2021, "Adaptive Federated Optimization",
// arXiv:2003.00295, Algorithm 2. C++17.
#pragma once

namespace fedhive::aggregation {

/// The next value of the moment v for an aggregate d.
enum class SecondMoment {
    Sum,      // v + d^2                                (FedAdagrad)
    Average,  // beta2 * v + (1 - beta2) * d^2          (FedAdam)
    Sign,     // v - (1 - beta2) * d^2 * sign(v - d^2)  (FedYogi)
};

}  // namespace fedhive::aggregation
