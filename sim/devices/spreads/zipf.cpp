#include "sim/devices/spread.h"

#include <cmath>
#include <numeric>
#include <span>

namespace fedhive::sim {

namespace {

std::vector<double> factors_by_rank(const Values& values, std::uint64_t num_clients, std::uint64_t seed, std::uint32_t draw) {
    std::vector<double> factors(num_clients);
    std::iota(factors.begin(), factors.end(), 1.0);
    Stream stream(seed, Purpose::Devices, draw);
    shuffle(std::span(factors), stream);  // factors are now the ranks
    for (double& factor : factors) factor = std::pow(factor, values.number("exponent"));
    return factors;
}

}  // namespace

Spread zipf() {
    return {
        .name = "zipf",
        .summary =
            "i^exponent for the client of rank i, so the times and rates here are the fastest client's; another number of "
            "clients draws all ranks 1 to N anew",
        .keys =
            {{.name = "exponent",
              .default_value = 1.0,
              .range = between(0, 10),
              .doc = "Exponent of the rank, typically 0.5–1.5; with 1 the last of N clients is N times as slow as the first; 0 "
                     "is constant."}},
        .factors = factors_by_rank};
}

}  // namespace fedhive::sim
