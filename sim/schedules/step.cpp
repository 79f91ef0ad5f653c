// The rate drops every `every` rounds; with every: 1 it is the decay per round of McMahan et al. 2017 (arXiv:1602.05629),
// section 3.
#include "sim/schedules/lr_schedule.h"

#include <cmath>

namespace fedhive::sim {

LrScheduleSpec step_rate() {
    return {.name = "step",
            .summary = "multiplied by gamma after every `every` rounds",
            .keys = {{.name = "every",
                      .default_value = std::int64_t{1},
                      .range = between(1, kMost),
                      .doc = "Number of rounds between two decreases; 1: every round."},
                     {.name = "gamma",
                      .default_value = 0.99,
                      .range = fraction(),
                      .doc = "Factor of each decrease (γ); typically 0.1 every third of a run, or 0.99 every round."}},
            .factor = [](const Values& values, std::uint64_t round) {
                const auto falls = round / static_cast<std::uint64_t>(values.integer("every"));
                return std::pow(values.number("gamma"), static_cast<double>(falls));
            }};
}

}  // namespace fedhive::sim
