// Oort: mostly clients that have been useful, by their loss, their time and how long ago that was; some that are new. F. Lai, X. Zhu,
// H. V. Madhyastha, M. Chowdhury 2021, "Oort: Efficient Federated Learning via Guided Participant Selection", OSDI,
// arXiv:2010.06081, Algorithm 1.
//
//   ε of the cohort   new clients, all alike; ε begins at `exploration` and falls by `exploration_decay` a round
//   the others        of those whose utility is at least 0.95 of the one that just makes it: drawn in proportion to utility
//   utility of k      min(n_k · loss_k, the 95th percentile) + sqrt(0.1 log R / L_k), times (T / t_k)^α where t_k > T
//                     R rounds so far, L_k the last one in which it trained, t_k its time then, T `preferred_s`
//
// Differs  n_k · mean loss in place of n_k · root mean square of the losses; T is given, so there is no pacer; new clients are not
//          drawn by speed, which nobody knows before they have trained.
#include "aggregation/base/take_number.h"
#include "sim/selection/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace fedhive::sim {

namespace {

/// `count` of the weighted clients, none twice, in proportion to the weights of those left: those with the smallest
/// −log(u) / weight (Efraimidis and Spirakis 2006). A draw for each, in their order; weights are above 0.
Cohort drawn_by_weight(const std::vector<std::pair<double, std::uint32_t>>& weighted, std::size_t count, Stream& stream) {
    std::vector<std::pair<double, std::uint32_t>> keys;
    keys.reserve(weighted.size());
    for (const auto& [weight, client] : weighted) keys.emplace_back(-std::log(1.0 - stream.uniform()) / weight, client);
    std::sort(keys.begin(), keys.end());
    Cohort cohort;
    for (std::size_t i = 0; i < std::min(count, keys.size()); ++i) cohort.push_back(keys[i].second);
    return cohort;
}

class OortSampler final : public Sampler {
public:
    explicit OortSampler(const SamplerInput& input)
        : num_clients_(input.num_examples.size()),
          exploration_(input.values.number("exploration")),
          decay_(input.values.number("exploration_decay")),
          least_(input.values.number("least_exploration")),
          preferred_s_(input.values.optional_number("preferred_s")),
          penalty_(input.values.number("penalty")) {}

    /// Cost: grows with the number of clients.
    Cohort sample(const Candidates& candidates, std::size_t count, Stream stream) override {
        std::vector<std::pair<double, std::uint32_t>> known;  // by utility
        std::vector<std::pair<double, std::uint32_t>> unknown;
        const double highest = percentile_95();
        for (std::uint32_t client = 0; client < num_clients_; ++client) {
            if (!candidates.has(client)) continue;
            const auto at = clients_.find(client);
            if (at == clients_.end())
                unknown.emplace_back(1.0, client);
            else
                known.emplace_back(utility(at->second, highest), client);
        }
        count = std::min(count, known.size() + unknown.size());
        const double share = std::max(least_, exploration_ * std::pow(decay_, static_cast<double>(rounds_)));
        const auto wanted = static_cast<std::size_t>(std::llround(share * static_cast<double>(count)));
        const std::size_t new_ones = std::clamp(wanted, count - std::min(count, known.size()), std::min(count, unknown.size()));
        Cohort cohort = drawn_by_weight(unknown, new_ones, stream);
        for (const std::uint32_t client :
             drawn_by_weight(near_the_best(std::move(known), count - new_ones), count - new_ones, stream))
            cohort.push_back(client);
        std::sort(cohort.begin(), cohort.end());
        return cohort;
    }

    void learn(std::span<const ClientOutcome> accepted) override {
        ++rounds_;
        for (const ClientOutcome& client : accepted) {
            const double gain = static_cast<double>(client.num_examples) * client.train_loss;
            clients_[client.client_id] = {std::isfinite(gain) ? gain : 0.0, rounds_, client.seconds};
        }
    }

    /// "17;3:41.5:16:0.2,": rounds; client, n_k · loss, last round, seconds.
    std::string state() const override {
        if (rounds_ == 0) return "";
        std::string text = fmt::format("{};", rounds_);
        for (const auto& [client, seen] : clients_)
            text += fmt::format("{}:{}:{}:{},", client, seen.gain, seen.round, seen.seconds);
        return text;
    }

    bool restore(const std::string& state) override {
        std::map<std::uint32_t, Seen> clients;
        std::uint64_t rounds = 0;
        std::string_view left = state;
        if (!left.empty() && !take_number(left, ';', rounds)) return false;
        while (!left.empty()) {
            std::uint32_t client = 0;
            Seen seen;
            if (!take_number(left, ':', client) || !take_number(left, ':', seen.gain) || !take_number(left, ':', seen.round) ||
                !take_number(left, ',', seen.seconds) || client >= num_clients_ || seen.round > rounds)
                return false;
            clients[client] = seen;
        }
        clients_ = std::move(clients);
        rounds_ = rounds;
        return true;
    }

private:
    struct Seen {
        double gain = 0.0;  // n_k · loss
        std::uint64_t round = 0;
        double seconds = 0.0;
    };

    double utility(const Seen& seen, double highest) const {
        const double age = std::sqrt(0.1 * std::log(static_cast<double>(rounds_)) / static_cast<double>(seen.round));
        double value = std::min(seen.gain, highest) + age;
        if (preferred_s_ && seen.seconds > *preferred_s_) value *= std::pow(*preferred_s_ / seen.seconds, penalty_);
        return std::max(value, std::numeric_limits<double>::min());
    }

    /// Of the gains: outliers do not count more than that.
    double percentile_95() const {
        std::vector<double> gains;
        for (const auto& [client, seen] : clients_) gains.push_back(seen.gain);
        if (gains.empty()) return 0.0;
        const std::size_t place = (gains.size() - 1) * 95 / 100;
        std::nth_element(gains.begin(), gains.begin() + static_cast<std::ptrdiff_t>(place), gains.end());
        return gains[place];
    }

    /// Those whose utility is at least 0.95 of the count-th largest; in the order of their ids.
    static std::vector<std::pair<double, std::uint32_t>> near_the_best(std::vector<std::pair<double, std::uint32_t>> known,
                                                                       std::size_t count) {
        if (count == 0) return {};
        std::vector<double> utilities;
        utilities.reserve(known.size());
        for (const auto& [value, client] : known) utilities.push_back(value);
        std::sort(utilities.begin(), utilities.end(), std::greater<>());
        const double cutoff = 0.95 * utilities[count - 1];
        std::erase_if(known, [&](const auto& one) { return one.first < cutoff; });
        return known;
    }

    std::uint64_t num_clients_;
    double exploration_;
    double decay_;
    double least_;
    std::optional<double> preferred_s_;
    double penalty_;
    std::map<std::uint32_t, Seen> clients_;  // that have trained
    std::uint64_t rounds_ = 0;
};

}  // namespace

SamplerSpec oort_sampler() {
    return {
        .name = "oort",
        .summary =
            "by the loss and the time of clients' last training, and how long ago it was; plus some new clients "
            "(arXiv:2010.06081)",
        .keys = {{.name = "exploration",
                  .default_value = 0.9,
                  .range = between(0, 1),
                  .doc = "Share of new clients in the first cohort (ε)."},
                 {.name = "exploration_decay",
                  .default_value = 0.98,
                  .range = fraction(),
                  .doc = "Factor on that share after each round."},
                 {.name = "least_exploration",
                  .default_value = 0.2,
                  .range = between(0, 1),
                  .doc = "The share of new clients does not fall below this."},
                 {.name = "preferred_s",
                  .default_value = std::optional<double>(),
                  .range = above(0),
                  .default_note = "–",
                  .doc = "Seconds of a round trip above which a client is worth less (T), simulated on the virtual clock. Left "
                         "out: time does not count."},
                 {.name = "penalty",
                  .default_value = 2.0,
                  .range = at_least(0),
                  .doc = "Power of T / time of a slower client (α)."}},
        .learns = true,
        .by_seconds = [](const Values& values) { return values.optional_number("preferred_s").has_value(); },
        .build = [](const SamplerInput& input) -> std::unique_ptr<Sampler> { return std::make_unique<OortSampler>(input); }};
}

}  // namespace fedhive::sim
