// The geometric median of the updates by smoothed Weiszfeld steps (RFA).
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/mean.h"

#include <algorithm>
#include <cmath>

namespace fedhive::aggregation {

namespace {

/// v = Σ β_k u_k / Σ β_k with β_k = w_k / max(ν, |u_k − v|), repeated; v begins as the weighted mean.
///
/// Shapes   n >= 1 updates, one client a slot. Cost: iterations · n² multiply-adds on inner products.
/// Source   Pillutla, Kakade, Harchaoui 2019 (arXiv:1912.13445): the smoothed Weiszfeld algorithm.
class GeometricMedian final : public WeightRule {
public:
    GeometricMedian(std::int64_t iterations, double smoothing) : iterations_(iterations), smoothing_(smoothing) {}

    Coefficients weigh(const RoundUpdates& updates) override {
        std::vector<double> weights;
        for (const Sender& sender : updates.senders) weights.push_back(sender.weight);
        std::vector<double> median = normalized(weights);
        for (std::int64_t i = 0; i < iterations_; ++i) {
            const std::vector<double> squared = updates.products->squared_distances_to(median);
            for (std::size_t k = 0; k < median.size(); ++k)
                median[k] = weights[k] / std::max(smoothing_, std::sqrt(squared[k]));
            median = normalized(median);
        }
        return {.of_updates = median};
    }

private:
    static std::vector<double> normalized(std::vector<double> weights) {
        double total = 0.0;
        for (const double weight : weights) total += weight;
        for (double& weight : weights) weight /= total;
        return weights;
    }

    std::int64_t iterations_;
    double smoothing_;
};

}  // namespace

AggregatorSpec geometric_median() {
    return {.name = "geometric_median",
            .summary = "the point with the least sum of distances to the updates (RFA, arXiv:1912.13445)",
            .single_updates = true,
            .weighs = false,
            .products = true,
            .of_groups = true,
            .keys = {{.name = "weiszfeld_steps",
                      .default_value = std::int64_t{3},
                      .range = between(0, 10000),
                      .doc = "Weiszfeld steps from the weighted mean on; the paper takes 3, and 0 is the mean."},
                     {.name = "smoothing",
                      .default_value = 1e-6,
                      .range = above(0),
                      .doc = "Least distance that a weight is divided by (ν)."}},
            .build = [](const Values&) { return make_mean(); },
            .weigh = [](const Values& values) -> std::unique_ptr<WeightRule> {
                return std::make_unique<GeometricMedian>(values.integer("weiszfeld_steps"), values.number("smoothing"));
            }};
}

}  // namespace fedhive::aggregation
