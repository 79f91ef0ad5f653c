// FoolsGold's rule: clients whose updates have pointed the same way over many rounds count less.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/mean.h"

#include <algorithm>
#include <cmath>

namespace fedhive::aggregation {

namespace {

/// With h_k the sum of client k's accepted updates, this one included:
///
///   c_ij = cos(h_i, h_j);   v_i = max(0, max_{j≠i} c_ij);   c_ij ← c_ij v_i / v_j  where v_j > v_i        (pardoning)
///   α_i = 1 − max(0, max_{j≠i} c_ij), in [0, 1];   α_i ← α_i / max_j α_j;   α_i ← κ (ln(α_i / (1 − α_i)) + 0.5), clipped to [0, 1]
///   out = Σ α_k u_k / Σ α_k;   0 if every α_k is 0
///
/// Shapes   n >= 1 updates, one client a slot. Memory: [P] for each client that was accepted once, in its record.
/// Source   Fung, Yoon, Beschastnikh 2020 (arXiv:1808.04866), Algorithm 1; v_i >= 0 as in the authors' program.
/// Differs  the paper adds Σ α_k u_k of single SGD steps; here it is divided by Σ α_k, so that the server rate means what it does for
///          the mean. All parameters count alike: no features are chosen (S of the paper). A zero h_k has cosine 0. α_i below 1e-5 is 0, since the
///          division by the largest would make weights of rounding errors where all are alike.
class Similarity final : public WeightRule {
public:
    explicit Similarity(double confidence) : confidence_(confidence) {}

    Coefficients weigh(const RoundUpdates& updates) override {
        std::vector<double> weights = distinctness(updates);
        double total = 0.0;
        for (double& weight : weights) total += weight = clipped_logit(weight);
        for (double& weight : weights) weight = total > 0.0 ? weight / total : 0.0;
        return {.of_updates = std::move(weights)};
    }

private:
    /// α before the logit; its largest is 1, or all are 0.
    static std::vector<double> distinctness(const RoundUpdates& updates) {
        const InnerProducts& products = *updates.products;
        const std::size_t count = updates.size();
        std::vector<double> closest(count, 0.0);  // v
        for (std::size_t i = 0; i < count; ++i)
            for (std::size_t j = 0; j < count; ++j)
                if (j != i) closest[i] = std::max(closest[i], products.cosine(i, j));
        std::vector<double> weights(count);
        for (std::size_t i = 0; i < count; ++i) {
            double most = 0.0;
            for (std::size_t j = 0; j < count; ++j)
                if (j != i) most = std::max(most, products.cosine(i, j) * pardon(closest[i], closest[j]));
            weights[i] = std::clamp(1.0 - most, 0.0, 1.0);
            if (weights[i] < kSame) weights[i] = 0.0;
        }
        const double largest = *std::max_element(weights.begin(), weights.end());
        for (double& weight : weights) weight = largest > 0.0 ? weight / largest : 0.0;
        return weights;
    }

    static constexpr double kSame = 1e-5;  // cosines are known to about 1e-6

    static double pardon(double own, double other) { return other > own ? own / other : 1.0; }

    double clipped_logit(double weight) const {
        if (weight <= 0.0) return 0.0;
        if (weight >= 1.0) return 1.0;
        return std::clamp(confidence_ * (std::log(weight / (1.0 - weight)) + 0.5), 0.0, 1.0);
    }

    double confidence_;  // κ
};

}  // namespace

AggregatorSpec similarity() {
    return {
        .name = "similarity",
        .summary = "the mean by how little a client's summed updates resemble another's (FoolsGold, arXiv:1808.04866)",
        .single_updates = true,
        .weighs = false,
        .products = true,
        .histories = true,
        .keys = {{.name = "confidence",
                  .default_value = 1.0,
                  .range = above(0),
                  .doc = "How steeply a weight follows from the similarity (κ); the paper's is 1, larger ones decide harder."}},
        .build = [](const Values&) { return make_sum(); },
        .weigh = [](const Values& values) -> std::unique_ptr<WeightRule> {
            return std::make_unique<Similarity>(values.number("confidence"));
        }};
}

}  // namespace fedhive::aggregation
