// Cohorts whose examples together have their classes evenly: J. Zhang, A. Li, M. Tang, J. Sun, X. Chen, F. Zhang, C. Chen, Y. Chen, H. Li
// 2023, "Fed-CBS: A Heterogeneity-Aware Client Sampling Mechanism for Federated Learning via Class-Imbalance Reduction"
// (arXiv:2209.15245), equations 1 and 4 to 6.
//
//   QCID(M) = Σ_c (Σ_{k∈M} n_kc / Σ_{k∈M} n_k − 1 / C)²      n_kc: examples of class c that client k has
//   first client    with probability ~ 1 / QCID({k}) + `rarity` · √(3 ln t / (2 T_k))      t: this round from 1, T_k: see below
//   i-th client     of those left with probability ~ 1 / QCID(M ∪ {k})^i,  M the i − 1 before it
//
// T_k is how often client k's update was accepted.
//
// Differs  the exponents are β_i = i; T_k is at least 1, a QCID at least 1e-6, and a client without examples is never drawn. The paper
//          sums counts under homomorphic encryption; here the server knows them, as it knows n_k, and no byte is counted for them.
#include "aggregation/base/take_number.h"
#include "sim/selection/remembered_clients.h"
#include "sim/selection/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

namespace fedhive::sim {

namespace {

using LabelCounts = std::vector<std::uint64_t>;  // n_kc by class

constexpr double kLeastImbalance = 1e-6;

/// ln 1 / QCID of the examples counted in `together` and `more`, at least one.
double balance_of(const LabelCounts& together, const LabelCounts& more) {
    std::uint64_t total = 0;
    for (std::size_t label = 0; label < more.size(); ++label) total += together[label] + more[label];
    double imbalance = 0.0;
    for (std::size_t label = 0; label < more.size(); ++label) {
        const double share = static_cast<double>(together[label] + more[label]) / static_cast<double>(total);
        const double off = share - 1.0 / static_cast<double>(more.size());
        imbalance += off * off;
    }
    return -std::log(std::max(imbalance, kLeastImbalance));
}

/// A place by probability ~ e^logarithm.
std::size_t drawn_by(const std::vector<double>& logarithms, Stream& stream) {
    const double largest = *std::max_element(logarithms.begin(), logarithms.end());
    std::vector<double> sums;
    sums.reserve(logarithms.size());
    double sum = 0.0;
    for (const double logarithm : logarithms) sums.push_back(sum += std::exp(logarithm - largest));
    const double at = stream.uniform() * sum;
    const auto found = std::upper_bound(sums.begin(), sums.end() - 1, at);
    return static_cast<std::size_t>(found - sums.begin());
}

class ClassBalancedSampler final : public Sampler {
public:
    explicit ClassBalancedSampler(const SamplerInput& input)
        : counts_(input.label_counts.begin(), input.label_counts.end()), weight_(input.values.number("rarity")) {}

    /// Cost: clients · count · classes.
    Cohort sample(const Candidates& candidates, std::size_t count, Stream stream) override {
        Cohort left, cohort;
        for (std::uint32_t client = 0; client < counts_.size(); ++client)
            if (asks(client) && candidates.has(client)) left.push_back(client);
        if (left.empty()) return cohort;
        LabelCounts together(counts_.front().size(), 0);
        while (cohort.size() < count && !left.empty()) {
            std::vector<double> logarithms;
            for (const std::uint32_t client : left) {
                const double balance = balance_of(together, counts_[client]);
                logarithms.push_back(cohort.empty() ? std::log(std::exp(balance) + weight_ * rarity_of(client))
                                                    : balance * static_cast<double>(cohort.size() + 1));
            }
            const auto place = static_cast<std::ptrdiff_t>(drawn_by(logarithms, stream));
            const std::uint32_t client = left[static_cast<std::size_t>(place)];
            for (std::size_t label = 0; label < together.size(); ++label) together[label] += counts_[client][label];
            cohort.push_back(client);
            left.erase(left.begin() + place);
        }
        std::sort(cohort.begin(), cohort.end());
        return cohort;
    }

    bool asks(std::uint32_t client) const override {
        return std::accumulate(counts_[client].begin(), counts_[client].end(), std::uint64_t{0}) > 0;
    }

    void learn(std::span<const ClientOutcome> accepted) override {
        ++rounds_;
        for (const ClientOutcome& client : accepted) times_[client.client_id] += 1.0;
    }

    /// "2;3:1,7:2,": rounds, then how often each client was accepted, for each that was.
    std::string state() const override { return fmt::format("{};{}", rounds_, text_of(times_)); }
    bool restore(const std::string& state) override {
        if (state.empty()) return true;
        std::string_view text = state;
        std::uint64_t rounds = 0;
        if (!take_number(text, ';', rounds)) return false;
        const std::optional<ByClient> times = by_client_in(text, counts_.size());
        if (!times) return false;
        rounds_ = rounds;
        times_ = *times;
        return true;
    }

private:
    double rarity_of(std::uint32_t client) const {
        const auto known = times_.find(client);
        const double times = known == times_.end() ? 1.0 : known->second;
        return std::sqrt(3.0 * std::log(static_cast<double>(rounds_ + 1)) / (2.0 * times));
    }

    std::vector<LabelCounts> counts_;  // by client
    double weight_;
    std::uint64_t rounds_ = 0;
    ByClient times_;
};

}  // namespace

SamplerSpec class_balanced_sampler() {
    return {.name = "class_balanced",
            .summary = "likelier the more evenly the cohort's examples have their classes (Fed-CBS, arXiv:2209.15245)",
            .keys = {{.name = "rarity",
                      .default_value = 10.0,
                      .range = at_least(0),
                      .doc = "Weight of clients that have seldom taken part in the draw of a cohort's first client (λ); 0: by "
                             "classes alone."}},
            .by_labels = true,
            .learns = true,
            .build = [](const SamplerInput& input) -> std::unique_ptr<Sampler> {
                return std::make_unique<ClassBalancedSampler>(input);
            }};
}

}  // namespace fedhive::sim
