// FedFV: the mean of updates after each lost its parts that point against others.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/mean.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace fedhive::aggregation {

namespace {

/// g_k ← g_k − ⟨g_k, u_j⟩ / |u_j|² u_j for each j with ⟨g_k, u_j⟩ < 0, by ascending loss F_j(w_t);  g_k begins as u_k, and the
/// ⌊α n⌋ updates of the largest losses stay as they are.  out = |ū| g / |g| with g = 1/n Σ_k g_k, ū = 1/n Σ_k u_k.
///
/// Shapes   n >= 1 updates, one client a slot. Equal losses: in cohort order. Each g_k is n coefficients; cost n³.
/// Source   Wang et al. 2021 (arXiv:2104.14937), internal conflicts.
/// Differs  conflicts with clients that do not take part in the round (τ) are not looked at.
class FedFv final : public WeightRule {
public:
    explicit FedFv(double kept) : kept_(kept) {}

    Coefficients weigh(const RoundUpdates& updates) override {
        const std::size_t count = updates.size();
        std::vector<std::size_t> by_loss(count);
        std::iota(by_loss.begin(), by_loss.end(), std::size_t{0});
        std::stable_sort(by_loss.begin(), by_loss.end(), [&](std::size_t a, std::size_t b) {
            return updates.senders[a].sent_loss < updates.senders[b].sent_loss;
        });
        const auto projected = count - static_cast<std::size_t>(kept_ * static_cast<double>(count));
        std::vector<double> sum(count, 0.0);
        for (std::size_t place = 0; place < count; ++place) {
            const std::size_t k = by_loss[place];
            const std::vector<double> gradient =
                place < projected ? without_conflicts(k, by_loss, *updates.products) : unit(count, k);
            for (std::size_t i = 0; i < count; ++i) sum[i] += gradient[i] / static_cast<double>(count);
        }
        const std::vector<double> mean(count, 1.0 / static_cast<double>(count));
        const double length = std::sqrt(updates.products->squared_of(sum));
        const double factor = length > 0.0 ? std::sqrt(updates.products->squared_of(mean)) / length : 0.0;
        for (double& coefficient : sum) coefficient *= factor;
        return {.of_updates = std::move(sum)};
    }

private:
    static std::vector<double> unit(std::size_t count, std::size_t k) {
        std::vector<double> coefficients(count, 0.0);
        coefficients[k] = 1.0;
        return coefficients;
    }

    /// The coefficients of g_k.
    static std::vector<double> without_conflicts(std::size_t k, const std::vector<std::size_t>& order,
                                                 const InnerProducts& products) {
        std::vector<double> coefficients = unit(order.size(), k);
        for (const std::size_t j : order) {
            if (j == k) continue;
            const double along = products.dot_of(j, coefficients);
            if (along < 0.0 && products.squared(j) > 0.0) coefficients[j] -= along / products.squared(j);
        }
        return coefficients;
    }

    double kept_;  // α
};

}  // namespace

AggregatorSpec without_conflicts() {
    return {.name = "without_conflicts",
            .summary = "the mean of updates without their parts that point against others (FedFV, arXiv:2104.14937)",
            .single_updates = true,
            .weighs = false,
            .products = true,
            .measures = {"loss"},
            .keys = {{.name = "kept",
                      .default_value = 0.1,
                      .range = between(0, 1),
                      .doc = "Share of the updates that stay as they are: those of the clients with the largest losses (α), "
                             "rounded down."}},
            .build = [](const Values&) { return make_sum(); },
            .weigh = [](const Values& values) -> std::unique_ptr<WeightRule> {
                return std::make_unique<FedFv>(values.number("kept"));
            }};
}

}  // namespace fedhive::aggregation
