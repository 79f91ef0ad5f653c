// Clustered sampling by size: one client from each of K clusters, and on average each as often as with replacement.
//
//   clients in order of their examples, most first, each of length K n_k on a line of length K N,  N = Σ n_k
//   cluster i is the line from i N to (i + 1) N;  a draw from it: client k with probability (its length there) / N
//
// So client k is drawn K n_k / N times on average, at least ⌊K n_k / N⌋ times less one and at most ⌈K n_k / N⌉ times plus one.
//
// Source   Y. Fraboni, R. Vidal, L. Kameni, M. Lorenzi 2021, "Clustered Sampling: Low-Variance and Improved Representativity for
//          Clients Selection in Federated Learning" (arXiv:2105.05883), Algorithm 1: the next model is the mean over the K draws.
// Differs  a client that was drawn several times trains once. Of clients with equally many examples, the one with the lower id
//          comes first.
#include "sim/selection/sampler.h"

#include <algorithm>
#include <numeric>

namespace fedhive::sim {

namespace {

class ClusteredSampler final : public Sampler {
public:
    explicit ClusteredSampler(std::span<const std::uint64_t> num_examples)
        : num_examples_(num_examples.begin(), num_examples.end()), by_size_(num_examples.size()) {
        std::iota(by_size_.begin(), by_size_.end(), 0U);
        std::stable_sort(by_size_.begin(), by_size_.end(),
                         [this](std::uint32_t a, std::uint32_t b) { return num_examples_[a] > num_examples_[b]; });
    }

    /// Cost: grows with the number of clients.
    Cohort sample(const Candidates& candidates, std::size_t count, Stream stream) override {
        Cohort there;
        std::vector<std::uint64_t> ends;  // Σ n of the candidates up to this one, by size
        std::uint64_t total = 0;
        for (const std::uint32_t client : by_size_) {
            if (num_examples_[client] == 0 || !candidates.has(client)) continue;
            there.push_back(client);
            ends.push_back(total += num_examples_[client]);
        }
        Cohort cohort;
        for (std::uint64_t cluster = 0; cluster < count && total > 0; ++cluster) {
            // A client ends at K Σ n, so it has the place where Σ n > place / K.
            const std::uint64_t place = (cluster * total + stream.below(total)) / count;
            cohort.push_back(there[static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), place) - ends.begin())]);
        }
        std::sort(cohort.begin(), cohort.end());
        return cohort;
    }

    bool asks(std::uint32_t client) const override { return num_examples_[client] > 0; }

private:
    std::vector<std::uint64_t> num_examples_;  // n_k
    Cohort by_size_;                           // most examples first
};

}  // namespace

SamplerSpec clustered_sampler() {
    return {.name = "clustered",
            .summary =
                "one from each cluster of clients of similar size, as many clusters as draws; likelier the more examples "
                "(arXiv:2105.05883)",
            .keys = {},
            .repeats = true,
            .build = [](const SamplerInput& input) -> std::unique_ptr<Sampler> {
                return std::make_unique<ClusteredSampler>(input.num_examples);
            }};
}

}  // namespace fedhive::sim
