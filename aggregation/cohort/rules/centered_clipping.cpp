// Centered clipping: a step from the last aggregate towards each update, none longer than τ.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/mean.h"

#include <algorithm>
#include <cmath>

namespace fedhive::aggregation {

namespace {

/// v ← v + 1/n Σ_k (u_k − v) · min(1, τ / |u_k − v|), repeated; v begins as the last aggregate, 0 in the first round.
///
/// Shapes   n >= 1 updates, one client a slot. Memory: the last aggregate, [P]; it is in checkpoints.
/// Source   Karimireddy, He, Jaggi 2021 (arXiv:2012.10333), centered clipping.
/// Differs  clients send updates; their momentum is what `training.optimizer` makes of it.
class CenteredClipping final : public WeightRule {
public:
    CenteredClipping(double tau, std::int64_t iterations) : tau_(tau), iterations_(iterations) {}

    Coefficients weigh(const RoundUpdates& updates) override {
        const std::size_t count = updates.size();
        std::vector<double> center(count + 1, 0.0);  // of the updates, then of the last aggregate
        center.back() = 1.0;
        for (std::int64_t i = 0; i < iterations_; ++i) {
            const std::vector<double> squared = updates.products->squared_distances_to(center);
            std::vector<double> pulls(count);
            double total = 0.0;
            for (std::size_t k = 0; k < count; ++k) {
                const double distance = std::sqrt(squared[k]);
                pulls[k] = (distance > tau_ ? tau_ / distance : 1.0) / static_cast<double>(count);
                total += pulls[k];
            }
            for (double& share : center) share *= 1.0 - total;
            for (std::size_t k = 0; k < count; ++k) center[k] += pulls[k];
        }
        const double of_last = center.back();
        center.pop_back();
        return {.of_updates = std::move(center), .of_last_aggregate = of_last};
    }

private:
    double tau_;
    std::int64_t iterations_;
};

}  // namespace

AggregatorSpec centered_clipping() {
    return {.name = "centered_clipping",
            .summary = "the last aggregate moved towards each update, by a limited length (arXiv:2012.10333)",
            .single_updates = true,
            .weighs = false,
            .products = true,
            .of_groups = true,
            .keeps_last = true,
            .keys = {{.name = "radius",
                      .default_value = 10.0,
                      .range = above(0),
                      .doc = "Greatest length of a step towards an update (τ), in the norm of an update."},
                     {.name = "iterations",
                      .default_value = std::int64_t{1},
                      .range = between(1, 10000),
                      .doc = "Such steps in a round (L)."}},
            .build = [](const Values&) { return make_sum(); },
            .weigh = [](const Values& values) -> std::unique_ptr<WeightRule> {
                return std::make_unique<CenteredClipping>(values.number("radius"), values.integer("iterations"));
            }};
}

}  // namespace fedhive::aggregation
