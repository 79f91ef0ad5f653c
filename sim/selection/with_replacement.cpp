// In proportion to the clients' examples, with replacement: each of K draws is client k with probability n_k / Σ n_j over the
// candidates, independently of the others.
//
// Source   X. Li, K. Huang, W. Yang, S. Wang, Z. Zhang 2020, "On the Convergence of FedAvg on Non-IID Data" (arXiv:1907.02189),
//          section 3.1, scheme I: the next model is the mean over the K draws, so a client counts as often as it was drawn.
// Differs  a client that was drawn several times trains once; the paper's would train on the same batches or on others.
#include "sim/selection/prefix_sums.h"
#include "sim/selection/sampler.h"

#include <algorithm>

namespace fedhive::sim {

namespace {

class WithReplacementSampler final : public Sampler {
public:
    explicit WithReplacementSampler(std::span<const std::uint64_t> num_examples)
        : num_examples_(num_examples.begin(), num_examples.end()), all_(num_examples) {}

    /// Cost: count · log(clients); grows with all clients if some of them are not there.
    Cohort sample(const Candidates& candidates, std::size_t count, Stream stream) override {
        if (candidates.all_there() && candidates.busy().empty()) return drawn(all_, count, stream);
        std::vector<std::uint64_t> of_candidates(num_examples_.size(), 0);
        for (std::uint32_t client = 0; client < num_examples_.size(); ++client)
            if (candidates.has(client)) of_candidates[client] = num_examples_[client];
        return drawn(PrefixSums(of_candidates), count, stream);
    }

    bool asks(std::uint32_t client) const override { return num_examples_[client] > 0; }

private:
    static Cohort drawn(const PrefixSums& examples, std::size_t count, Stream stream) {
        Cohort cohort;
        while (cohort.size() < count && examples.total() > 0)
            cohort.push_back(static_cast<std::uint32_t>(examples.at(stream.below(examples.total()))));
        std::sort(cohort.begin(), cohort.end());
        return cohort;
    }

    std::vector<std::uint64_t> num_examples_;  // n_k
    PrefixSums all_;
};

}  // namespace

SamplerSpec with_replacement_sampler() {
    return {.name = "with_replacement",
            .summary = "in proportion to their examples; a client drawn several times counts as often (arXiv:1907.02189)",
            .keys = {},
            .repeats = true,
            .build = [](const SamplerInput& input) -> std::unique_ptr<Sampler> {
                return std::make_unique<WithReplacementSampler>(input.num_examples);
            }};
}

}  // namespace fedhive::sim
