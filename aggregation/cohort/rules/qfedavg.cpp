// q-FedAvg: updates of clients with a larger loss count more.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/mean.h"

#include <algorithm>
#include <cmath>

namespace fedhive::aggregation {

namespace {

/// out = Σ F_k^q u_k / Σ (F_k^q + q F_k^(q−1) L |u_k|²), with F_k the loss of the model that client k was sent, on its examples, and
/// L = 1 / client rate.
///
/// Shapes   n >= 1 updates, one client a slot. With q = 0 the bits of the mean with equal weights.
/// Source   Li et al. 2020 (arXiv:1905.10497), Algorithm 2, numerator and denominator divided by L.
class QFedAvg final : public WeightRule {
public:
    explicit QFedAvg(double q) : q_(q) {}

    Coefficients weigh(const RoundUpdates& updates) override {
        Coefficients coefficients;
        for (const Sender& sender : updates.senders) {
            const double loss = std::max(sender.sent_loss, kLeastLoss);
            const double power = std::pow(loss, q_);
            const double slope = q_ * (power / loss) * sender.update_norm * sender.update_norm / updates.local.lr;
            coefficients.of_updates.push_back(power);
            coefficients.weights.push_back(power + slope);
        }
        return coefficients;
    }

private:
    static constexpr double kLeastLoss = 1e-10;  // F^(q − 1) of a loss of 0
    double q_;
};

}  // namespace

AggregatorSpec loss_power() {
    return {
        .name = "loss_power",
        .summary = "weights by a power of the clients' losses, with the step that goes with it (q-FedAvg, arXiv:1905.10497)",
        .single_updates = true,
        .weighs = false,
        .measures = {"loss"},
        .keys = {{.name = "q",
                  .default_value = 1.0,
                  .range = at_least(0),
                  .doc = "Power of the loss (q): 0 is the mean, larger is fairer and slower; typically 0.1–5."}},
        .build = [](const Values&) { return make_mean(); },
        .weigh = [](const Values& values) -> std::unique_ptr<WeightRule> {
            return std::make_unique<QFedAvg>(values.number("q"));
        }};
}

}  // namespace fedhive::aggregation
