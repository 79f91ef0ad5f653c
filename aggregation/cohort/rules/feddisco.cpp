// FedDisco: clients whose labels are spread evenly count more.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/mean.h"

#include <algorithm>

namespace fedhive::aggregation {

namespace {

/// out = Σ p_k u_k / Σ p_k with p_k = max(0, w_k / Σ w − a d_k + b), d_k = |share of each label at client k − 1 / labels|.
///
/// Shapes   n >= 1 updates, one client a slot.
/// Source   Ye et al. 2023 (arXiv:2305.19229), with the L2 distance to the uniform distribution.
/// Differs  if all p_k are 0, p_k = w_k, so that the round makes a step.
class FedDisco final : public WeightRule {
public:
    FedDisco(double a, double b) : a_(a), b_(b) {}

    Coefficients weigh(const RoundUpdates& updates) override {
        double total = 0.0;
        for (const Sender& sender : updates.senders) total += sender.weight;
        Coefficients coefficients;
        bool any = false;
        for (const Sender& sender : updates.senders) {
            const double weight = std::max(0.0, sender.weight / total - a_ * sender.label_discrepancy + b_);
            coefficients.of_updates.push_back(weight);
            any = any || weight > 0.0;
        }
        if (any) return coefficients;
        for (std::size_t k = 0; k < updates.size(); ++k) coefficients.of_updates[k] = updates.senders[k].weight;
        return coefficients;
    }

private:
    double a_, b_;
};

}  // namespace

AggregatorSpec even_labels() {
    return {
        .name = "even_labels",
        .summary = "the mean with more weight for clients whose labels are spread evenly (FedDisco, arXiv:2305.19229)",
        .single_updates = true,
        .weighs = false,
        .label_discrepancies = true,
        .keys =
            {{.name = "disco_a",
              .default_value = 0.5,
              .range = at_least(0),
              .doc =
                  "Weight taken off for each unit of a client's distance from even labels (a); 0 with disco_b 0 is the mean."},
             {.name = "disco_b",
              .default_value = 0.1,
              .range = at_least(0),
              .doc = "Weight that every client gets on top of its share (b)."}},
        .build = [](const Values&) { return make_mean(); },
        .weigh = [](const Values& values) -> std::unique_ptr<WeightRule> {
            return std::make_unique<FedDisco>(values.number("disco_a"), values.number("disco_b"));
        }};
}

}  // namespace fedhive::aggregation
