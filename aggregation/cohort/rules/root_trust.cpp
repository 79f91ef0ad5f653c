// FLTrust's rule: updates weighed by how far they point where the server's own update does.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/mean.h"

#include <algorithm>

namespace fedhive::aggregation {

namespace {

/// out = Σ t_k (|r| / |u_k|) u_k / Σ t_k  with trust t_k = max(0, cos(u_k, r)) and the root client's update r; 0 if every t_k is 0.
///
/// Shapes   n >= 1 updates, one client a slot; r: [P], never a part of the sum.
/// Source   Cao, Fang, Liu, Gong 2021 (arXiv:2012.13995), FLTrust.
/// Differs  α is the server rate; r trains as long as `training` says, as clients do. A zero u_k or r has cosine 0.
class RootTrust final : public WeightRule {
public:
    Coefficients weigh(const RoundUpdates& updates) override {
        const std::size_t root = updates.root_row();
        const double root_norm = updates.products->norm(root);
        std::vector<double> trust;
        double total = 0.0;
        for (std::size_t k = 0; k < updates.size(); ++k) {
            trust.push_back(std::max(0.0, updates.products->cosine(k, root)));
            total += trust.back();
        }
        Coefficients coefficients{.of_updates = std::vector<double>(updates.size(), 0.0)};
        for (std::size_t k = 0; k < updates.size(); ++k)
            if (trust[k] > 0.0) coefficients.of_updates[k] = trust[k] / total * (root_norm / updates.products->norm(k));
        return coefficients;
    }
};

}  // namespace

AggregatorSpec root_trust() {
    return {.name = "root_trust",
            .summary = "the mean of updates as long as the server's own, by their cosine with it (arXiv:2012.13995)",
            .single_updates = true,
            .weighs = false,
            .products = true,
            .root = true,
            .build = [](const Values&) { return make_sum(); },
            .weigh = [](const Values&) -> std::unique_ptr<WeightRule> { return std::make_unique<RootTrust>(); }};
}

}  // namespace fedhive::aggregation
