// The clients of a list, always in its order: a cohort is the first of them that can be asked.
#include "sim/selection/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace fedhive::sim {

namespace {

class FixedSampler final : public Sampler {
public:
    explicit FixedSampler(const std::vector<double>& clients) : clients_(clients.begin(), clients.end()), sorted_(clients_) {
        std::sort(sorted_.begin(), sorted_.end());
    }

    /// Cost: grows with the list.
    Cohort sample(const Candidates& candidates, std::size_t count, Stream) override {
        Cohort cohort;
        for (const std::uint32_t client : clients_)
            if (cohort.size() < count && candidates.has(client)) cohort.push_back(client);
        std::sort(cohort.begin(), cohort.end());
        return cohort;
    }

    bool asks(std::uint32_t client) const override { return std::binary_search(sorted_.begin(), sorted_.end(), client); }

private:
    std::vector<std::uint32_t> clients_;  // in the list's order
    Cohort sorted_;
};

std::optional<KeyProblem> list_problem(const Values& values, std::int64_t clients, std::int64_t cohort) {
    const std::vector<double>& listed = values.numbers("clients");
    std::set<double> seen;
    for (std::size_t i = 0; i < listed.size(); ++i) {
        const std::string key = fmt::format("clients[{}]", i);
        if (listed[i] >= static_cast<double>(clients) || listed[i] != static_cast<double>(static_cast<std::int64_t>(listed[i])))
            return KeyProblem{key, fmt::format("client {} does not exist; allowed: 0 to {}", listed[i], clients - 1)};
        if (!seen.insert(listed[i]).second)
            return KeyProblem{key, fmt::format("client {} is listed twice; remove one", listed[i])};
    }
    if (listed.size() < static_cast<std::size_t>(cohort))
        return KeyProblem{
            "clients", fmt::format("{} {} fewer than a cohort of {}; list {} or more, or lower training.cohort", listed.size(),
                                   listed.size() == 1 ? "client is" : "clients are", cohort, cohort)};
    return std::nullopt;
}

}  // namespace

SamplerSpec fixed_sampler() {
    return {.name = "fixed",
            .summary = "the first clients of a list that can be asked, and no others",
            .keys = {{.name = "clients",
                      .default_value = std::vector<double>{},
                      .range = between(0, kMost),
                      .required = true,
                      .doc = "Ids as in clients.csv, from 0, each once; at least as many as the cohort has clients."}},
            .check = list_problem,
            .build = [](const SamplerInput& input) -> std::unique_ptr<Sampler> {
                return std::make_unique<FixedSampler>(input.values.numbers("clients"));
            }};
}

}  // namespace fedhive::sim
