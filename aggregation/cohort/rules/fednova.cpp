// FedNova: updates divided by the length of their clients' training, so that clients with more steps do not pull the model to
// their own optimum.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/mean.h"

#include <map>

namespace fedhive::aggregation {

namespace {

/// out = τ_eff Σ p_k u_k / a_k with τ_eff = Σ p_k a_k, where a_k = |a|₁ is what τ_k steps of the client's optimiser make of a
/// constant gradient of 1, divided by the client rate: τ_k for plain SGD.
///
/// Shapes   n >= 1 updates, one client a slot. With equal a_k the bits of the weighted mean.
/// Source   Wang et al. 2020 (arXiv:2007.07481): the normalised averaging with a_k of SGD, of SGD with momentum, of FedProx.
/// Differs  a_k leaves out weight decay and Nesterov momentum; for other optimisers it is τ_k.
class FedNova final : public WeightRule {
public:
    Coefficients weigh(const RoundUpdates& updates) override {
        std::vector<double> lengths;
        std::map<std::uint64_t, double> known;
        for (const Sender& sender : updates.senders) {
            const auto [at, is_new] = known.try_emplace(sender.steps);
            if (is_new) at->second = length(sender.steps, updates.local);
            lengths.push_back(at->second);
        }
        Coefficients coefficients;
        for (std::size_t k = 0; k < updates.size(); ++k) {
            double ratios = 0.0;  // Σ p_j a_j / a_k; the quotients first, so that equal lengths give 1
            double total = 0.0;
            for (std::size_t j = 0; j < updates.size(); ++j) {
                ratios += updates.senders[j].weight * (lengths[j] / lengths[k]);
                total += updates.senders[j].weight;
            }
            coefficients.of_updates.push_back(updates.senders[k].weight * (ratios / total));
            coefficients.weights.push_back(updates.senders[k].weight);
        }
        return coefficients;
    }

private:
    /// |a|₁ of a client with that many steps; 1 for a client that made none.
    static double length(std::uint64_t steps, const LocalSteps& local) {
        if (steps == 0) return 1.0;
        if (local.momentum == 0.0 && local.proximal_mu == 0.0) return static_cast<double>(steps);
        double velocity = 0.0;
        double moved = 0.0;  // in units of the rate
        for (std::uint64_t step = 0; step < steps; ++step) {
            velocity = local.momentum * velocity + 1.0 - local.proximal_mu * local.lr * moved;
            moved += velocity;
        }
        return moved;
    }
};

}  // namespace

AggregatorSpec fednova_rule() {
    return {
        .name = "normalized",
        .summary = "the weighted mean of updates per local step, times the mean number of steps (FedNova, arXiv:2007.07481)",
        .single_updates = true,
        .weighs = false,
        .build = [](const Values&) { return make_mean(); },
        .weigh = [](const Values&) -> std::unique_ptr<WeightRule> { return std::make_unique<FedNova>(); }};
}

}  // namespace fedhive::aggregation
