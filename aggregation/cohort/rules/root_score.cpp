// Zeno's rule, to first order: the mean of the updates that the server's own update scores highest.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/cohort/rules/chosen_rows.h"
#include "aggregation/math/mean.h"

namespace fedhive::aggregation {

namespace {

/// score(k) = ⟨u_k, r⟩ − ρ |u_k|²  with the root client's update r;  out = mean of the max(1, n − b) updates with the highest scores.
/// Of equal scores, the one earlier in the cohort comes first.
///
/// Shapes   n updates, one client a slot, n >= b + 1. With fewer, one update counts. r: [P], never a part of the mean.
/// Source   Xie, Koyejo, Gupta 2019 (arXiv:1805.10032), Zeno: an update's score is the decrease of the loss on the server's examples
///          by that step less ρ times its squared length; the n − b highest count. Xie, Koyejo, Gupta (arXiv:1903.07020), Zeno++:
///          the decrease to first order, by a gradient on the server's examples.
/// Differs  r, the update of local training on the server's examples, stands for minus that gradient, so scores are not in units of
///          the loss. If clients and server take one step of plain SGD of rate γ, score(k) is γ times the paper's to first order,
///          with γ ρ for the paper's ρ.
class RootScore final : public WeightRule {
public:
    /// `byzantine`: b; `penalty`: ρ.
    RootScore(std::int64_t byzantine, double penalty) : byzantine_(static_cast<std::size_t>(byzantine)), penalty_(penalty) {}

    Coefficients weigh(const RoundUpdates& updates) override {
        const std::size_t count = updates.size();
        std::vector<double> negated;  // scores
        for (std::size_t k = 0; k < count; ++k)
            negated.push_back(penalty_ * updates.products->squared(k) - updates.products->dot(k, updates.root_row()));
        return mean_of(rows_of_smallest(negated, count > byzantine_ ? count - byzantine_ : 1), count);
    }

private:
    std::size_t byzantine_;
    double penalty_;
};

}  // namespace

AggregatorSpec root_score() {
    return {
        .name = "root_score",
        .summary = "the mean of the updates with the highest ⟨u, r⟩ − ρ |u|², r the server's own (arXiv:1805.10032)",
        .single_updates = true,
        .weighs = false,
        .products = true,
        .root = true,
        .keys = {{.name = "byzantine",
                  .default_value = std::int64_t{1},
                  .range = between(0, 1 << 20),
                  .doc = "Number of updates in a round that are left out (b), at least as many as may be arbitrarily wrong; at "
                         "least b + 1 must arrive."},
                 {.name = "penalty",
                  .default_value = 0.005,
                  .range = at_least(0),
                  .doc =
                      "Factor of an update's squared norm, which is taken off its score (ρ); with 1, no update as long as the "
                      "server's own has a positive score."}},
        .least = [](const Values& values) { return static_cast<std::size_t>(values.integer("byzantine")) + 1; },
        .build = [](const Values&) { return make_mean(); },
        .weigh = [](const Values& values) -> std::unique_ptr<WeightRule> {
            return std::make_unique<RootScore>(values.integer("byzantine"), values.number("penalty"));
        }};
}

}  // namespace fedhive::aggregation
