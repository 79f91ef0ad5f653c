// FedExP: the mean, extrapolated by a server rate that the updates themselves give.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/mean.h"

#include <algorithm>

namespace fedhive::aggregation {

namespace {

/// out = η · ū with ū = Σ p_k u_k and η = max(1, Σ p_k |u_k|² / (2 (|ū|² + ε))).
///
/// Shapes   n >= 1 updates, one client a slot.
/// Source   Jhunjhunwala, Wang, Joshi 2023 (arXiv:2301.09604), Algorithm 1; p_k = 1/M there, or by examples.
/// Differs  ε is compared with squared norms of updates; the paper's last model is the mean of the last two, ours is not.
class FedExp final : public WeightRule {
public:
    explicit FedExp(double epsilon) : epsilon_(epsilon) {}

    Coefficients weigh(const RoundUpdates& updates) override {
        double total = 0.0;
        for (const Sender& sender : updates.senders) total += sender.weight;
        std::vector<double> shares;
        double mean_squared = 0.0;
        for (std::size_t k = 0; k < updates.size(); ++k) {
            shares.push_back(updates.senders[k].weight / total);
            mean_squared += shares[k] * updates.products->squared(k);
        }
        const double rate = std::max(1.0, mean_squared / (2.0 * (updates.products->squared_of(shares) + epsilon_)));
        Coefficients coefficients;
        for (const Sender& sender : updates.senders) {
            coefficients.of_updates.push_back(rate * sender.weight);
            coefficients.weights.push_back(sender.weight);
        }
        return coefficients;
    }

private:
    double epsilon_;
};

}  // namespace

AggregatorSpec fedexp_rule() {
    return {.name = "extrapolated",
            .summary = "the weighted mean times a rate of at least 1, larger the more the updates differ (arXiv:2301.09604)",
            .single_updates = true,
            .weighs = false,
            .products = true,
            .keys = {{.name = "epsilon",
                      .default_value = 1e-3,
                      .range = at_least(0),
                      .doc = "Added to the squared norm of the mean update (ε); a larger one extrapolates less."}},
            .build = [](const Values&) { return make_mean(); },
            .weigh = [](const Values& values) -> std::unique_ptr<WeightRule> {
                return std::make_unique<FedExp>(values.number("epsilon"));
            }};
}

}  // namespace fedhive::aggregation
