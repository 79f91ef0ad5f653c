// TERM: weights that grow exponentially with the clients' losses.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/mean.h"

#include <algorithm>
#include <cmath>

namespace fedhive::aggregation {

namespace {

/// out = Σ p_k u_k / Σ p_k with p_k = w_k e^(t F_k), F_k the loss of the model that client k was sent, on its examples.
///
/// Shapes   n >= 1 updates, one client a slot. With t = 0 the bits of the weighted mean.
/// Source   Li et al. 2021 (arXiv:2007.01162): tilted weights, with clients as groups.
/// Differs  the weights are of the losses of the model that was sent, not of a running estimate.
class Tilted final : public WeightRule {
public:
    explicit Tilted(double tilt) : tilt_(tilt) {}

    Coefficients weigh(const RoundUpdates& updates) override {
        double largest = updates.senders.front().sent_loss;
        for (const Sender& sender : updates.senders) largest = std::max(largest, sender.sent_loss);
        Coefficients coefficients;
        for (const Sender& sender : updates.senders)
            coefficients.of_updates.push_back(sender.weight * std::exp(tilt_ * (sender.sent_loss - largest)));
        return coefficients;
    }

private:
    double tilt_;
};

}  // namespace

AggregatorSpec tilted() {
    return {.name = "tilted",
            .summary = "weights that grow exponentially with the clients' losses (TERM, arXiv:2007.01162)",
            .single_updates = true,
            .weighs = false,
            .measures = {"loss"},
            .keys = {{.name = "tilt",
                      .default_value = 1.0,
                      .range = at_least(0),
                      .doc = "How strongly a larger loss counts (t): 0 is the weighted mean; typically 0.1–5."}},
            .build = [](const Values&) { return make_mean(); },
            .weigh = [](const Values& values) -> std::unique_ptr<WeightRule> {
                return std::make_unique<Tilted>(values.number("tilt"));
            }};
}

}  // namespace fedhive::aggregation
