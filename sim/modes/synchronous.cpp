// Federated averaging as McMahan et al. 2017, arXiv:1602.05629, Algorithm 1: waits for all M clients of the cohort. With a
// quorum K the cohort is over-selected, Bonawitz et al. 2019, arXiv:1902.01046, section 3: the first K count.
#include "sim/modes/mode_spec.h"

namespace fedhive::sim {

ModeSpec synchronous() {
    return {.name = "synchronous",
            .summary = "a round ends when its cohort has arrived (arXiv:1602.05629)",
            .keys = {quorum_key()},
            .whole_cohort = true,
            .build = [](const ModeInput& input) {
                Mode mode;
                mode.in_flight = input.cohort;
                mode.quorum = quorum_of(input);
                return mode;
            }};
}

}  // namespace fedhive::sim
