// Active federated learning: clients whose last loss was large are likelier. J. Goetz, K. Malik, D. Bui, S. Moon, H. Liu, A. Kumar
// 2019, "Active Federated Learning", arXiv:1909.12641, Algorithm 1.
//
//   value of k   sqrt(n_k) · mean loss of its last training; who has never trained has the largest value so far
//   of the candidates, the share `left_out` with the smallest values cannot be drawn by value
//   a share 1 − `uniform` of the cohort by probability ~ e^(`sharpness` · value), none twice; the others uniformly
//
// Differs  the paper asks all clients for a first value; here they are told only by training.
#include "sim/selection/remembered_clients.h"
#include "sim/selection/sampler.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

namespace fedhive::sim {

namespace {

class ActiveSampler final : public Sampler {
public:
    explicit ActiveSampler(const SamplerInput& input)
        : num_clients_(input.num_examples.size()),
          left_out_(input.values.number("left_out")),
          sharpness_(input.values.number("sharpness")),
          uniform_(input.values.number("uniform")) {}

    /// Cost: grows with the number of clients.
    Cohort sample(const Candidates& candidates, std::size_t count, Stream stream) override {
        double largest = 0.0;
        for (const auto& [client, value] : values_) largest = std::max(largest, value);
        std::vector<std::pair<double, std::uint32_t>> all;  // by value, smallest first
        for (std::uint32_t client = 0; client < num_clients_; ++client) {
            if (!candidates.has(client)) continue;
            const auto known = values_.find(client);
            all.emplace_back(known == values_.end() ? largest : known->second, client);
        }
        std::sort(all.begin(), all.end());
        count = std::min(count, all.size());
        const auto passed_over = static_cast<std::size_t>(left_out_ * static_cast<double>(all.size()));
        const std::size_t by_value = std::min(
            count - static_cast<std::size_t>(std::llround(uniform_ * static_cast<double>(count))), all.size() - passed_over);
        std::vector<std::pair<double, std::uint32_t>> keys;  // smallest −log(u) / weight first, as logarithms
        for (std::size_t i = passed_over; i < all.size(); ++i)
            keys.emplace_back(std::log(-std::log(1.0 - stream.uniform())) - sharpness_ * (all[i].first - largest),
                              all[i].second);
        std::sort(keys.begin(), keys.end());
        Cohort cohort;
        for (std::size_t i = 0; i < by_value; ++i) cohort.push_back(keys[i].second);
        Cohort rest;
        for (const auto& [value, client] : all)
            if (std::find(cohort.begin(), cohort.end(), client) == cohort.end()) rest.push_back(client);
        std::sort(rest.begin(), rest.end());
        while (cohort.size() < count) {
            const auto place = static_cast<std::ptrdiff_t>(stream.below(rest.size()));
            cohort.push_back(rest[static_cast<std::size_t>(place)]);
            rest.erase(rest.begin() + place);
        }
        std::sort(cohort.begin(), cohort.end());
        return cohort;
    }

    void learn(std::span<const ClientOutcome> accepted) override {
        for (const ClientOutcome& client : accepted) {
            const double value = std::sqrt(static_cast<double>(client.num_examples)) * client.train_loss;
            if (std::isfinite(value)) values_[client.client_id] = value;
        }
    }

    /// "3:0.5,7:1.25,": value by client, for each that has trained.
    std::string state() const override { return text_of(values_); }
    bool restore(const std::string& state) override {
        const std::optional<ByClient> values = by_client_in(state, num_clients_);
        if (values) values_ = *values;
        return values.has_value();
    }

private:
    std::uint64_t num_clients_;
    double left_out_;
    double sharpness_;
    double uniform_;
    ByClient values_;
};

}  // namespace

SamplerSpec active_sampler() {
    return {
        .name = "active",
        .summary = "likelier the larger the last loss (Active FL, arXiv:1909.12641)",
        .keys = {{.name = "left_out",
                  .default_value = 0.75,
                  .range = fraction_below_one(),
                  .doc = "Share of the candidates, those of smallest value, that are drawn only uniformly (α1)."},
                 {.name = "sharpness",
                  .default_value = 0.01,
                  .range = at_least(0),
                  .doc = "Factor on the value in e^(factor · value) (α2)."},
                 {.name = "uniform",
                  .default_value = 0.1,
                  .range = between(0, 1),
                  .doc = "Share of a cohort that is drawn uniformly (α3)."}},
        .learns = true,
        .build = [](const SamplerInput& input) -> std::unique_ptr<Sampler> { return std::make_unique<ActiveSampler>(input); }};
}

}  // namespace fedhive::sim
