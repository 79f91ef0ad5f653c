// The server of DP-FTRL: P. Kairouz, B. McMahan, S. Song, O. Thakkar, A. Thakurta, Z. Xu 2021, "Practical and Private (Deep)
// Learning without Sampling or Shuffling", arXiv:2103.00039. Not here: the noise, which sim/round/tree_noise.h adds to each
// aggregate before this step.
#include "aggregation/server/momentum.h"

namespace fedhive::aggregation {

/// Algorithm 1 by its increments: with s_t the noised sum of t updates, w_t = w_0 + lr v_t and v_t = momentum v_{t-1} + s_t, so
/// d_t = w_t - w_{t-1} = momentum d_{t-1} + lr (s_t - s_{t-1}), which is the step of server momentum.
ServerOptimizerSpec server_dp_ftrl() {
    return {
        .name = "dp_ftrl",
        .summary =
            "DP-FTRL: the server adds the noise of a binary tree over the rounds to the updates' sum, so that it need "
            "not sample clients (arXiv:2103.00039)",
        .tree_noise = true,
        .keys = {averaging_rate(),
                 {.name = "server_momentum",
                  .default_value = 0.0,
                  .range = fraction_below_one(),
                  .doc = "Momentum on the noised sums (γ); in the paper 0 or 0.9. It begins at 0 with each tree."},
                 {.name = "noise_multiplier",
                  .default_value = std::optional<double>(),
                  .range = above(0),
                  .empty_word = "auto",
                  .default_note = "`1`",
                  .doc = "Standard deviation of the noise of a node of the tree, as a multiple of the norm of clip (z). auto, "
                         "or left out: 1; with privacy.epsilon the smallest value that keeps that ε."},
                 {.name = "restart_every",
                  .default_value = std::optional<std::int64_t>(),
                  .range = between(1, kMost),
                  .empty_word = "auto",
                  .default_note = "`auto`",
                  .doc = "Rounds of a tree, after which a new one begins from the present model. auto, or left out: "
                         "clients / cohort, rounded down; in these rounds round_robin asks no client twice."}},
        .formulas = momentum_formulas};
}

}  // namespace fedhive::aggregation
