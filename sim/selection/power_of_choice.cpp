// Those with the largest loss of a few that are drawn by their examples: Y. J. Cho, J. Wang, G. Joshi 2020, "Client Selection in
// Federated Learning" (arXiv:2010.01243), Algorithm 1.
//
//   d candidates, client k next with probability n_k / Σ n_j over those left
//   measured (π_pow-d): each candidate tells its loss of the present model; who fails to is no candidate
//   reported (π_rpow-d): its loss of its last training, which costs nothing; who has never trained has an infinite one
//   asked to train: the m of them with the largest loss
//
// Differs  ties go by client id; d is a multiple of m, so that a part of a cohort (a client that is replaced) has its part of d.
#include "sim/selection/of_largest.h"
#include "sim/selection/remembered_clients.h"
#include "sim/selection/sampler.h"

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace fedhive::sim {

namespace {

constexpr double kInfiniteLoss = std::numeric_limits<double>::infinity();

/// The losses that decide: those that clients reported from their last training, or those measured of the present model.
enum class Losses { Reported, Measured };
constexpr auto all_words(Losses) { return std::array{"reported", "measured"}; }

bool is_measured(const Values& values) { return values.choice<Losses>("losses") == Losses::Measured; }
std::size_t factor_of(const Values& values) { return static_cast<std::size_t>(values.integer("factor")); }

class PowerOfChoiceSampler : public Sampler {
public:
    PowerOfChoiceSampler(const SamplerInput& input, std::size_t factor)
        : by_examples_(sampler_spec("examples").build({.values = {}, .num_examples = input.num_examples})), factor_(factor) {}

    bool asks(std::uint32_t client) const final { return by_examples_->asks(client); }

protected:
    Cohort drawn(const Candidates& candidates, std::size_t count, const Stream& stream) {
        return by_examples_->sample(candidates, factor_ * count, stream);
    }

private:
    std::unique_ptr<Sampler> by_examples_;
    std::size_t factor_;  // d / m
};

class Measured final : public PowerOfChoiceSampler {
public:
    using PowerOfChoiceSampler::PowerOfChoiceSampler;

    Cohort sample(const Candidates& candidates, std::size_t count, Stream stream) override {
        const Cohort some = drawn(candidates, count, stream);
        const std::vector<std::optional<double>> told = candidates.measured(some);
        std::vector<std::pair<double, std::uint32_t>> losses;
        for (std::size_t i = 0; i < some.size(); ++i)
            if (told[i]) losses.emplace_back(*told[i], some[i]);
        return of_largest(std::move(losses), count);
    }
};

class Reported final : public PowerOfChoiceSampler {
public:
    Reported(const SamplerInput& input, std::size_t factor)
        : PowerOfChoiceSampler(input, factor), num_clients_(input.num_examples.size()) {}

    Cohort sample(const Candidates& candidates, std::size_t count, Stream stream) override {
        std::vector<std::pair<double, std::uint32_t>> losses;
        for (const std::uint32_t client : drawn(candidates, count, stream)) losses.emplace_back(loss_of(client), client);
        return of_largest(std::move(losses), count);
    }

    void learn(std::span<const ClientOutcome> accepted) override {
        for (const ClientOutcome& client : accepted)
            losses_[client.client_id] = std::isnan(client.train_loss) ? kInfiniteLoss : client.train_loss;
    }

    /// "3:0.5,7:1.25,": loss by client, for each that has trained.
    std::string state() const override { return text_of(losses_); }
    bool restore(const std::string& state) override {
        const std::optional<ByClient> losses = by_client_in(state, num_clients_);
        if (losses) losses_ = *losses;
        return losses.has_value();
    }

private:
    double loss_of(std::uint32_t client) const {
        const auto known = losses_.find(client);
        return known == losses_.end() ? kInfiniteLoss : known->second;
    }

    std::uint64_t num_clients_;
    ByClient losses_;  // of the last training, of those that have trained
};

}  // namespace

SamplerSpec power_of_choice_sampler() {
    return {
        .name = "power_of_choice",
        .summary = "those with the largest loss among a few drawn in proportion to their examples (arXiv:2010.01243)",
        .keys = {{.name = "factor",
                  .default_value = std::int64_t{2},
                  .range = between(1, 1000),
                  .doc = "Candidates drawn for each client that is asked, typically 2–10 (d / m); 1 is the same as examples."},
                 {.name = "losses",
                  .default_value = Losses::Reported,
                  .choices = words_of<Losses>(),
                  .doc =
                      "The losses that are compared. reported: of each candidate's last training (rpow-d), with no extra work; "
                      "measured: of the present model, which each candidate gets and measures on its training examples first "
                      "(pow-d); counted in bytes_down and bytes_up and on the virtual clock. docs/modes.md."}},
        .learns = true,
        .measured = [](const Values& values, std::uint64_t cohort) -> std::uint64_t {
            return is_measured(values) ? factor_of(values) * cohort : 0;
        },
        .asking_key = "losses",
        .not_asking = "reported",
        .build = [](const SamplerInput& input) -> std::unique_ptr<Sampler> {
            if (is_measured(input.values)) return std::make_unique<Measured>(input, factor_of(input.values));
            return std::make_unique<Reported>(input, factor_of(input.values));
        }};
}

}  // namespace fedhive::sim
