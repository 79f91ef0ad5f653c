// Control variates of SCAFFOLD's clients (S. P. Karimireddy et al. 2020, arXiv:1910.06378, Algorithm 1): see
// strategies/scaffold.cpp.
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

LocalRuleSpec local_scaffold() {
    return {.name = "scaffold",
            .summary = "the loss, with gradients corrected by stored control variates of the clients (arXiv:1910.06378)",
            .keys = {{.name = "option",
                      .default_value = std::int64_t{2},
                      .range = between(1, 2),
                      .doc = "The control variate of a client, in the paper's numbering. 2: computed from its steps; needs "
                             "plain SGD. 1: the gradient over all its examples at the received model; needs one more pass over "
                             "them, but works with any optimiser. If it is left out: 2 for plain SGD, else 1."}},
            .whole_gradient = true,
            .client_term = true,
            // Down: c. Up: c_k^+ - c_k, which is added to c_k when the update is accepted.
            .memories = {{.name = aggregation::kControl,
                          .owner = aggregation::MemoryOwner::Client,
                          .down = true,
                          .up = true,
                          .change = aggregation::MemoryChange::Add}},
            .sends_beside = "c_k+ - c_k (arXiv:1910.06378, Algorithm 1, line 13)",
            .state_of_steps = [](const Values& values) { return values.integer("option") == 2; },
            .apply =
                [](Strategy& strategy, const Values& values) {
                    if (values.integer("option") == 1)
                        strategy.control_change = {.by_gradient = true};
                    else
                        strategy.control_change = {.of_update = -1.0, .by_steps = true};
                    strategy.around_server = aggregation::make_control_step;
                }};
}

}  // namespace fedhive::sim
