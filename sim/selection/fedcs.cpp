// FedCS: of clients drawn at random, the fastest that meet the deadline. T. Nishio, R. Yonetani 2019, "Client Selection for Federated
// Learning with Heterogeneous Resources in Mobile Edge", ICC, arXiv:1804.08333, Protocol 1.
//
//   m to ask: d = `factor` · m candidates drawn uniformly; each tells the seconds of its last round trip, 0 before the first one
//   asked to train: of those of at most `deadline_s`, the m fastest; if all are slower, the fastest one
//
// Differs  the paper's server computes each client's time beforehand and packs uploads one after the other into the deadline; here a
//          client's time is that of its last round trip, and round trips run side by side. Ties go by client id.
#include "sim/selection/remembered_clients.h"
#include "sim/selection/sampler.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace fedhive::sim {

namespace {

class FedCsSampler final : public Sampler {
public:
    explicit FedCsSampler(const SamplerInput& input)
        : uniform_(sampler_spec("uniform").build({.values = {}, .num_examples = input.num_examples})),
          num_clients_(input.num_examples.size()),
          factor_(static_cast<std::size_t>(input.values.integer("factor"))),
          deadline_s_(input.values.optional_number("deadline_s").value_or(std::numeric_limits<double>::infinity())) {}

    Cohort sample(const Candidates& candidates, std::size_t count, Stream stream) override {
        std::vector<std::pair<double, std::uint32_t>> by_time;
        for (const std::uint32_t client : uniform_->sample(candidates, factor_ * count, stream)) {
            const auto known = seconds_.find(client);
            by_time.emplace_back(known == seconds_.end() ? 0.0 : known->second, client);
        }
        std::sort(by_time.begin(), by_time.end());
        Cohort cohort;
        for (const auto& [seconds, client] : by_time)
            if (cohort.size() < count && (seconds <= deadline_s_ || cohort.empty())) cohort.push_back(client);
        std::sort(cohort.begin(), cohort.end());
        return cohort;
    }

    void learn(std::span<const ClientOutcome> accepted) override {
        for (const ClientOutcome& client : accepted) seconds_[client.client_id] = client.seconds;
    }

    /// "3:0.5,7:1.25,": seconds by client, for each that has trained.
    std::string state() const override { return text_of(seconds_); }
    bool restore(const std::string& state) override {
        const std::optional<ByClient> seconds = by_client_in(state, num_clients_);
        if (seconds) seconds_ = *seconds;
        return seconds.has_value();
    }

private:
    std::unique_ptr<Sampler> uniform_;
    std::uint64_t num_clients_;
    std::size_t factor_;  // d / m
    double deadline_s_;
    ByClient seconds_;
};

}  // namespace

SamplerSpec fedcs_sampler() {
    return {
        .name = "fedcs",
        .summary = "the fastest of a few drawn clients, by their last round trip (FedCS, arXiv:1804.08333)",
        .keys =
            {{.name = "factor",
              .default_value = std::int64_t{2},
              .range = between(1, 1000),
              .doc =
                  "Candidates drawn for each client that is asked, typically 2–10 (d / m); 1 with no deadline is the same as "
                  "uniform."},
             {.name = "deadline_s",
              .default_value = std::optional<double>(),
              .range = above(0),
              .default_note = "–",
              .doc = "Seconds of a round trip above which a client is not asked, simulated on the virtual clock. Left out: no "
                     "limit."}},
        .learns = true,
        .by_seconds = [](const Values&) { return true; },
        .build = [](const SamplerInput& input) -> std::unique_ptr<Sampler> { return std::make_unique<FedCsSampler>(input); }};
}

}  // namespace fedhive::sim
