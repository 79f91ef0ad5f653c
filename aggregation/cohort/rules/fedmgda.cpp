// FedMGDA+: the shortest combination of normalised updates, so that no client's loss rises to first order.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/mean.h"

#include <algorithm>
#include <cmath>

namespace fedhive::aggregation {

namespace {

/// out = Σ λ_k û_k with û_k = u_k / |u_k| and λ = argmin |Σ λ_k û_k|² over Σ λ_k = 1, λ_k ≥ 0, |λ_k − p_k| ≤ ε; p_k = w_k / Σ w.
/// Weight moves from the steepest k that may lose some to the flattest that may gain some, by the best length, until their slopes
/// ⟨û_k, Σ λ û⟩ agree to 1e-12.
///
/// Shapes   n >= 1 updates, one client a slot; an update of length 0 gets coefficient 0.
/// Source   Hu et al. 2022 (arXiv:2006.11489), Algorithm 1.
class FedMgda final : public WeightRule {
public:
    explicit FedMgda(double epsilon) : epsilon_(epsilon) {}

    Coefficients weigh(const RoundUpdates& updates) override {
        const std::size_t count = updates.size();
        double total = 0.0;
        for (const Sender& sender : updates.senders) total += sender.weight;
        std::vector<double> lambda;
        for (const Sender& sender : updates.senders) lambda.push_back(sender.weight / total);
        const std::vector<double> shares = lambda;
        std::vector<double> slopes(count, 0.0);
        for (std::size_t i = 0; i < count; ++i)
            for (std::size_t k = 0; k < count; ++k) slopes[i] += lambda[k] * updates.products->cosine(i, k);
        for (std::size_t step = 0; step < 1000 * count; ++step) {
            std::size_t gains = count;
            std::size_t loses = count;
            for (std::size_t k = 0; k < count; ++k) {
                if (lambda[k] < highest(shares[k]) && (gains == count || slopes[k] < slopes[gains])) gains = k;
                if (lambda[k] > lowest(shares[k]) && (loses == count || slopes[k] > slopes[loses])) loses = k;
            }
            if (gains == count || loses == count || slopes[loses] - slopes[gains] < 1e-12) break;
            const double curve = 2.0 - 2.0 * updates.products->cosine(gains, loses);
            const double room = std::min(highest(shares[gains]) - lambda[gains], lambda[loses] - lowest(shares[loses]));
            const double move = curve > 0.0 ? std::min(room, (slopes[loses] - slopes[gains]) / curve) : room;
            lambda[gains] = move == room ? std::min(highest(shares[gains]), lambda[gains] + move) : lambda[gains] + move;
            lambda[loses] = std::max(lowest(shares[loses]), lambda[loses] - move);
            for (std::size_t i = 0; i < count; ++i)
                slopes[i] += move * (updates.products->cosine(i, gains) - updates.products->cosine(i, loses));
            if (move == 0.0) break;  // less than a rounding
        }
        Coefficients coefficients;
        for (std::size_t k = 0; k < count; ++k) {
            const double norm = updates.products->norm(k);
            coefficients.of_updates.push_back(norm > 0.0 ? lambda[k] / norm : 0.0);
        }
        return coefficients;
    }

private:
    double lowest(double share) const { return std::max(0.0, share - epsilon_); }
    double highest(double share) const { return std::min(1.0, share + epsilon_); }

    double epsilon_;
};

}  // namespace

AggregatorSpec common_descent() {
    return {.name = "common_descent",
            .summary = "the shortest combination of normalised updates (FedMGDA+, arXiv:2006.11489)",
            .single_updates = true,
            .weighs = false,
            .products = true,
            .keys = {{.name = "spread",
                      .default_value = 0.1,
                      .range = between(0, 1),
                      .doc = "How far a weight may be from its share (ε): 0 is the mean of normalised updates, 1 allows every "
                             "weight."}},
            .build = [](const Values&) { return make_sum(); },
            .weigh = [](const Values& values) -> std::unique_ptr<WeightRule> {
                return std::make_unique<FedMgda>(values.number("spread"));
            }};
}

}  // namespace fedhive::aggregation
