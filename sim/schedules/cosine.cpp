// Half a cosine from the full rate to the minimum, which then stays: Loshchilov and Hutter 2017 (arXiv:1608.03983), equation 5,
// without restarts.
#include "sim/schedules/lr_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace fedhive::sim {

LrScheduleSpec cosine_rate() {
    return {.name = "cosine",
            .summary = "half a cosine down to the least rate (arXiv:1608.03983)",
            .keys = {{.name = "over",
                      .default_value = std::int64_t{100},
                      .range = between(1, kMost),
                      .doc = "Number of rounds after the warm-up until the rate reaches its least value (T), where it stays; "
                             "typically the whole run."},
                     {.name = "least",
                      .default_value = 0.01,
                      .range = fraction(),
                      .doc = "Least rate as a multiple of optimizer.lr (η_min / η)."}},
            .factor = [](const Values& values, std::uint64_t round) {
                const double done = std::min(1.0, static_cast<double>(round) / static_cast<double>(values.integer("over")));
                const double least = values.number("least");
                return least + (1.0 - least) * 0.5 * (1.0 + std::cos(std::numbers::pi * done));
            }};
}

}  // namespace fedhive::sim
