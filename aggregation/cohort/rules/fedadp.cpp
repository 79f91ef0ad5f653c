// FedAdp: updates that point the way of the mean count more.
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/cohort/rules/remembered_numbers.h"
#include "aggregation/math/mean.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace fedhive::aggregation {

namespace {

/// out = Σ p_k u_k / Σ p_k with p_k = w_k e^f(θ_k), f(θ) = α (1 − e^(−e^(−α (θ − 1)))), where θ_k is the mean, over the rounds in
/// which client k took part, of the angle between its update and the weighted mean of the round.
///
/// Shapes   n >= 1 updates, one client a slot. Memory: a count and an angle for each client; they are in checkpoints.
/// Source   Wu and Wang 2021 (arXiv:2012.00661): smoothed angles, Gompertz function, softmax by examples.
class FedAdp final : public WeightRule {
public:
    explicit FedAdp(double alpha) : alpha_(alpha) {}

    Coefficients weigh(const RoundUpdates& updates) override {
        std::vector<double> shares;
        double total = 0.0;
        for (const Sender& sender : updates.senders) total += sender.weight;
        for (const Sender& sender : updates.senders) shares.push_back(sender.weight / total);
        const double mean_norm = std::sqrt(updates.products->squared_of(shares));
        Coefficients coefficients;
        for (std::size_t k = 0; k < updates.size(); ++k) {
            const double lengths = mean_norm * updates.products->norm(k);
            const double cosine = lengths > 0.0 ? updates.products->dot_of(k, shares) / lengths : 1.0;
            Angle& known = angles_[updates.senders[k].client_id];
            known.mean += (std::acos(std::clamp(cosine, -1.0, 1.0)) - known.mean) / (known.rounds += 1.0);
            coefficients.of_updates.push_back(updates.senders[k].weight * std::exp(contribution(known.mean)));
        }
        return coefficients;
    }

    std::string state() const override {
        std::vector<double> numbers;
        for (const auto& [client, angle] : angles_)
            numbers.insert(numbers.end(), {static_cast<double>(client), angle.rounds, angle.mean});
        return text_of(numbers);
    }
    bool restore(const std::string& state) override {
        const auto numbers = numbers_in(state);
        if (!numbers || numbers->size() % 3 != 0) return false;
        angles_.clear();
        for (std::size_t i = 0; i < numbers->size(); i += 3)
            angles_[static_cast<std::uint32_t>((*numbers)[i])] = {(*numbers)[i + 1], (*numbers)[i + 2]};
        return true;
    }

private:
    struct Angle {
        double rounds = 0.0;
        double mean = 0.0;  // rad
    };

    double contribution(double angle) const { return alpha_ * (1.0 - std::exp(-std::exp(-alpha_ * (angle - 1.0)))); }

    double alpha_;
    std::map<std::uint32_t, Angle> angles_;  // of clients that took part
};

}  // namespace

AggregatorSpec aligned() {
    return {.name = "aligned",
            .summary = "the mean with more weight for updates that point its way (FedAdp, arXiv:2012.00661)",
            .single_updates = true,
            .weighs = false,
            .products = true,
            .keys = {{.name = "gompertz",
                      .default_value = 5.0,
                      .range = above(0),
                      .doc = "Steepness of the weight in the angle (α of the Gompertz function)."}},
            .build = [](const Values&) { return make_mean(); },
            .weigh = [](const Values& values) -> std::unique_ptr<WeightRule> {
                return std::make_unique<FedAdp>(values.number("gompertz"));
            }};
}

}  // namespace fedhive::aggregation
