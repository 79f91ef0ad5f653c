#include "sim/devices/spread.h"

#include <cmath>

namespace fedhive::sim {

namespace {

std::vector<double> factors(const Values& values, std::uint64_t num_clients, std::uint64_t seed, std::uint32_t draw) {
    std::vector<double> factors(num_clients);
    for (std::uint32_t client = 0; client < num_clients; ++client)
        factors[client] = std::exp(values.number("sigma") * Stream(seed, Purpose::Devices, draw, client).normal());
    return factors;
}

}  // namespace

Spread lognormal() {
    return {.name = "lognormal",
            .summary = "exp(σ z) with standard normal z, so the times and rates here are the median client's",
            .keys = {{.name = "sigma",
                      .default_value = 0.5,
                      .range = between(0, 10),
                      .doc = "Standard deviation of the slowness' logarithm, typically 0.25–1; 0 is constant (σ)."}},
            .factors = factors};
}

}  // namespace fedhive::sim
