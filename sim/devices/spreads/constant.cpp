#include "sim/devices/spread.h"

namespace fedhive::sim {

Spread constant() {
    return {.name = "constant",
            .summary = "1 for all",
            .keys = {},
            .factors = [](const Values&, std::uint64_t num_clients, std::uint64_t, std::uint32_t) {
                return std::vector<double>(num_clients, 1.0);
            }};
}

}  // namespace fedhive::sim
