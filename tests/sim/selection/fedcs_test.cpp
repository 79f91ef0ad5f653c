#include "sim/selection/sampler.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

constexpr std::uint64_t kDevices = 12;
const std::vector<std::uint64_t> kTenEach(kDevices, 10);

Stream draws_of(std::uint32_t round) { return Stream(3, Purpose::Sampling, round); }

std::unique_ptr<Sampler> fedcs(const Values& values) {
    const SamplerSpec& spec = sampler_spec("fedcs");
    return spec.build({.values = completed(values, spec.keys), .num_examples = kTenEach});
}

}  // namespace

TEST_SUITE("FedCs") {
    TEST_CASE("TheFastestInTimeAreAskedAndNewOnesBefore") {
        const auto sampler = fedcs({{"factor", std::int64_t{12}}, {"deadline_s", std::optional(3.5)}});
        CHECK(sampler->sample(Candidates(kDevices), 3, draws_of(0)) == Cohort{0, 1, 2});  // nobody is known
        std::vector<ClientOutcome> told;
        for (std::uint32_t client = 0; client < kDevices; ++client)
            told.push_back({.client_id = client, .seconds = client < 6 ? 10.0 : 12.0 - client});
        told.erase(told.begin() + 4);
        sampler->learn(told);
        CHECK(sampler->sample(Candidates(kDevices), 3, draws_of(1)) == Cohort{4, 10, 11});
        // 3.5 s at most: 4, which is new, 9, 10 and 11.
        CHECK(sampler->sample(Candidates(kDevices), 9, draws_of(2)) == Cohort{4, 9, 10, 11});
        CHECK(sampler->sample(Candidates(kDevices, {4, 9, 10, 11}), 3, draws_of(3)) == Cohort{8});  // all are slower
    }

    TEST_CASE("OneCandidateForEachWithoutADeadlineIsUniform") {
        const auto sampler = fedcs({{"factor", std::int64_t{1}}});
        const auto uniform = sampler_spec("uniform").build({.values = {}, .num_examples = kTenEach});
        for (std::uint32_t round = 0; round < 5; ++round)
            CHECK(sampler->sample(Candidates(kDevices), 4, draws_of(round)) ==
                  uniform->sample(Candidates(kDevices), 4, draws_of(round)));
    }
}
