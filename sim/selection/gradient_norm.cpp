// The clients with the largest gradients: O. Marnissi, H. El Hammouti, E. H. Bergou 2021, "Client Selection in Federated Learning
// based on Gradients Importance" (arXiv:2111.11204).
//
//   m to ask: d = `candidates` · m candidates drawn uniformly, or every client that can be asked
//   each tells |∇F_k(w)|, the norm of the mean gradient of its examples at the present model; who fails to is no candidate
//   asked to train: the m of them with the largest norm
//
// Differs  the paper asks all clients, and who is chosen makes one step of SGD. Ties go by client id.
#include "sim/selection/of_largest.h"
#include "sim/selection/sampler.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace fedhive::sim {

namespace {

constexpr std::uint64_t kEverybody = std::numeric_limits<std::uint32_t>::max();

/// Candidates for `count` clients to ask.
std::uint64_t candidates_for(const Values& values, std::uint64_t count) {
    const std::optional<std::int64_t> each = values.optional_integer("candidates");
    return each ? static_cast<std::uint64_t>(*each) * count : kEverybody;
}

class GradientNormSampler final : public Sampler {
public:
    explicit GradientNormSampler(const SamplerInput& input)
        : values_(input.values), uniform_(sampler_spec("uniform").build({.values = {}, .num_examples = input.num_examples})) {}

    Cohort sample(const Candidates& candidates, std::size_t count, Stream stream) override {
        const Cohort some =
            uniform_->sample(candidates, std::min(candidates_for(values_, count), candidates.num_clients()), stream);
        const std::vector<std::optional<double>> told = candidates.measured(some);
        std::vector<std::pair<double, std::uint32_t>> norms;
        for (std::size_t i = 0; i < some.size(); ++i)
            if (told[i]) norms.emplace_back(*told[i], some[i]);
        return of_largest(std::move(norms), count);
    }

private:
    Values values_;
    std::unique_ptr<Sampler> uniform_;
};

}  // namespace

SamplerSpec gradient_norm_sampler() {
    return {
        .name = "gradient_norm",
        .summary = "those with the largest gradient of the present model (arXiv:2111.11204)",
        .keys = {{.name = "candidates",
                  .default_value = std::optional<std::int64_t>(),
                  .range = between(1, 1000),
                  .empty_word = "all",
                  .default_note = "`all`",
                  .doc = "Candidates drawn uniformly for each client that is asked; all: every client that can be asked. Each "
                         "gets the model and measures first; counted in bytes_down and bytes_up and on the virtual clock. "
                         "docs/modes.md."}},
        .learns = true,
        .measured = candidates_for,
        .measure = "gradient_norm",
        .build = [](const SamplerInput& input) -> std::unique_ptr<Sampler> {
            return std::make_unique<GradientNormSampler>(input);
        }};
}

}  // namespace fedhive::sim
