// Those with the largest loss of a few that are drawn by their examples: Y. J. Cho, J. Wang, G. Joshi 2020, "Client Selection in
// Federated Learning" (arXiv:2010.01243), the variant π_rpow-d, which asks nobody for its present loss.
//
//   d candidates, client k next with probability n_k / Σ n_j over those left
//   asked: the m of them with the largest loss of their last training; who has never trained has an infinite one
//
// Differs  ties go by client id; d is a multiple of m, so that a part of a cohort (a client that is replaced) has its part of d.
#include "sim/selection/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

namespace fedhive::sim {

namespace {

constexpr double kInfiniteLoss = std::numeric_limits<double>::infinity();

/// Reads a number at the front of `text`, and takes it and the `end` behind it off. False if there is none.
template <class Number>
bool take_number(std::string_view& text, char end, Number& number) {
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || stop == text.data() + text.size() || *stop != end) return false;
    text.remove_prefix(static_cast<std::size_t>(stop + 1 - text.data()));
    return true;
}

class PowerOfChoiceSampler final : public Sampler {
public:
    PowerOfChoiceSampler(const SamplerInput& input, std::size_t factor)
        : by_examples_(sampler_spec("examples").build({.values = {}, .num_examples = input.num_examples})),
          num_clients_(input.num_examples.size()),
          factor_(factor) {}

    Cohort sample(const Candidates& candidates, std::size_t count, Stream stream) override {
        Cohort cohort = by_examples_->sample(candidates, factor_ * count, stream);
        const auto larger = [this](std::uint32_t a, std::uint32_t b) {
            return std::pair(-loss_of(a), a) < std::pair(-loss_of(b), b);
        };
        std::sort(cohort.begin(), cohort.end(), larger);
        cohort.resize(std::min(cohort.size(), count));
        std::sort(cohort.begin(), cohort.end());
        return cohort;
    }

    bool asks(std::uint32_t client) const override { return by_examples_->asks(client); }

    void learn(std::span<const ClientOutcome> accepted) override {
        for (const ClientOutcome& client : accepted)
            losses_[client.client_id] = std::isnan(client.train_loss) ? kInfiniteLoss : client.train_loss;
    }

    /// "3:0.5,7:1.25,": loss by client, for each that has trained.
    std::string state() const override {
        std::string text;
        for (const auto& [client, loss] : losses_) text += fmt::format("{}:{},", client, loss);
        return text;
    }

    bool restore(const std::string& state) override {
        std::map<std::uint32_t, double> losses;
        for (std::string_view left = state; !left.empty();) {
            std::uint32_t client = 0;
            double loss = 0.0;
            if (!take_number(left, ':', client) || !take_number(left, ',', loss) || client >= num_clients_) return false;
            losses[client] = loss;
        }
        losses_ = std::move(losses);
        return true;
    }

private:
    double loss_of(std::uint32_t client) const {
        const auto known = losses_.find(client);
        return known == losses_.end() ? kInfiniteLoss : known->second;
    }

    std::unique_ptr<Sampler> by_examples_;
    std::uint64_t num_clients_;
    std::size_t factor_;                      // d / m
    std::map<std::uint32_t, double> losses_;  // of the last training, of those that have trained
};

}  // namespace

SamplerSpec power_of_choice_sampler() {
    return {
        .name = "power_of_choice",
        .summary = "those with the largest last loss of a few drawn by their examples (arXiv:2010.01243)",
        .keys = {{.name = "factor",
                  .default_value = std::int64_t{2},
                  .range = between(1, 1000),
                  .doc = "Candidates drawn for each client that is asked, typically 2–10 (d / m); 1 is the same as examples."}},
        .learns = true,
        .build = [](const SamplerInput& input) -> std::unique_ptr<Sampler> {
            return std::make_unique<PowerOfChoiceSampler>(input, static_cast<std::size_t>(input.values.integer("factor")));
        }};
}

}  // namespace fedhive::sim
