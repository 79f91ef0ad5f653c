// In proportion to the clients' examples, without replacement: client k is next with probability n_k / Σ n_j over the candidates
// that are left.
//
// Source   sampling by n_k: Li et al. 2018, "Federated Optimization in Heterogeneous Networks" (arXiv:1812.06127), Algorithm 2,
//          which averages the updates with equal weights: strategy.weighting uniform.
// Differs  the paper does not say whether a client may be drawn twice; here a cohort has each client once.
#include "sim/selection/prefix_sums.h"
#include "sim/selection/sampler.h"

#include <algorithm>

namespace fedhive::sim {

namespace {

class ExamplesSampler final : public Sampler {
public:
    explicit ExamplesSampler(std::span<const std::uint64_t> num_examples)
        : num_examples_(num_examples.begin(), num_examples.end()), left_(num_examples) {}

    /// Cost: (count + busy clients) · log(clients); grows with all clients if some of them are not there.
    Cohort sample(const Candidates& candidates, std::size_t count, Stream stream) override {
        Cohort taken = others_than(candidates);
        for (const std::uint32_t client : taken) left_.take(client, num_examples_[client]);
        Cohort cohort;
        while (cohort.size() < count && left_.total() > 0) {
            const auto client = static_cast<std::uint32_t>(left_.at(stream.below(left_.total())));
            left_.take(client, num_examples_[client]);
            cohort.push_back(client);
        }
        taken.insert(taken.end(), cohort.begin(), cohort.end());
        for (const std::uint32_t client : taken) left_.add(client, num_examples_[client]);
        std::sort(cohort.begin(), cohort.end());
        return cohort;
    }

    bool asks(std::uint32_t client) const override { return num_examples_[client] > 0; }

private:
    Cohort others_than(const Candidates& candidates) const {
        if (candidates.all_there()) return candidates.busy();
        Cohort others;
        for (std::uint32_t client = 0; client < num_examples_.size(); ++client)
            if (!candidates.has(client)) others.push_back(client);
        return others;
    }

    std::vector<std::uint64_t> num_examples_;  // n_k
    PrefixSums left_;                          // of the clients that can still be drawn; between calls: of all
};

}  // namespace

SamplerSpec examples_sampler() {
    return {.name = "examples",
            .summary = "in proportion to their examples, none twice in a cohort (arXiv:1812.06127)",
            .keys = {},
            .build = [](const SamplerInput& input) -> std::unique_ptr<Sampler> {
                return std::make_unique<ExamplesSampler>(input.num_examples);
            }};
}

}  // namespace fedhive::sim
