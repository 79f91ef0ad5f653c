#include "sim/round/sampling.h"

#include "aggregation/base/error.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

std::unique_ptr<Sampler> uniform() { return sampler_spec("uniform").build({}); }

/// As sample_idle(), by the uniform sampler.
Cohort idle(std::uint64_t num_clients, const Cohort& busy, std::size_t count, const Stream& stream, const Devices& devices,
            double& now_s) {
    return sample_idle(*uniform(), num_clients, busy, count, stream, devices, now_s);
}

DevicesConfig seldom_there() {
    DevicesConfig config;
    config.availability.scheme = "probability";
    config.availability.values.set("probability", 0.001);
    config.availability.values.set("period_s", 10.0);
    return config;
}

}  // namespace

TEST_SUITE("CohortAtATime") {
    TEST_CASE("AllWhoAreIdleAreTakenAndBusyClientsNever") {
        DevicesConfig sometimes;
        sometimes.availability.scheme = "probability";
        sometimes.availability.values.set("probability", 0.5);
        const std::vector<std::uint32_t> busy{0, 3, 4, 19};
        for (const DevicesConfig& config : {DevicesConfig(), sometimes}) {
            const Devices devices(config, 20, 1);
            std::set<std::uint32_t> expected, seen;
            for (std::uint32_t client = 0; client < 20; ++client)
                if (devices.available(client, 0.0) && !std::binary_search(busy.begin(), busy.end(), client))
                    expected.insert(client);
            CHECK((expected.size() == 16) == devices.always_available());
            for (std::uint32_t round = 0; round < 200; ++round) {
                double now_s = 0.0;
                for (const std::uint32_t client : idle(20, busy, 16, Stream(1, Purpose::Sampling, round), devices, now_s)) {
                    CHECK_FALSE(std::binary_search(busy.begin(), busy.end(), client));
                    CHECK(devices.available(client, 0.0));
                    seen.insert(client);
                }
            }
            CHECK(seen == expected);
        }
    }

    TEST_CASE("IdleClientsKeepTheirNumbersBesideBusyOnes") {
        const Devices devices({}, 10, 1);
        double now_s = 0.0;
        for (const std::vector<std::uint32_t>& busy : {std::vector<std::uint32_t>{0, 1, 5, 9}, {3}, {9}, {0, 2, 4, 6, 8}}) {
            Cohort others;
            for (std::uint32_t client = 0; client < 10; ++client)
                if (!std::binary_search(busy.begin(), busy.end(), client)) others.push_back(client);
            CHECK(idle(10, busy, 10, Stream(1, Purpose::Sampling), devices, now_s) == others);
        }
    }

    TEST_CASE("WhoIsThereAndIdleIsEquallyLikely") {
        DevicesConfig config;
        config.availability.scheme = "probability";
        config.availability.values.set("probability", 0.4);
        const Devices devices(config, 20, 3);
        const std::vector<std::uint32_t> busy{1, 7, 12};
        std::vector<std::uint32_t> there;
        for (std::uint32_t client = 0; client < 20; ++client)
            if (devices.available(client, 0.0) && !std::binary_search(busy.begin(), busy.end(), client))
                there.push_back(client);
        REQUIRE(there.size() > 3);
        std::map<std::uint32_t, int> drawn;
        constexpr int kRounds = 6000;
        double now_s = 0.0;
        for (std::uint32_t round = 0; round < kRounds; ++round) {
            const Cohort cohort = idle(20, busy, 2, Stream(1, Purpose::Sampling, round), devices, now_s);
            REQUIRE(cohort.size() == 2);
            REQUIRE(cohort[0] < cohort[1]);
            for (const std::uint32_t client : cohort) ++drawn[client];
        }
        CHECK(drawn.size() == there.size());
        const double expected = 2.0 * kRounds / static_cast<double>(there.size());
        for (const auto& [client, times] : drawn) CHECK(std::abs(times - expected) < 5.0 * std::sqrt(expected));
        // More than there are: all of them.
        CHECK(idle(20, busy, 20, Stream(1, Purpose::Sampling), devices, now_s) == there);
        CHECK(now_s == 0.0);
    }

    TEST_CASE("TimeGoesOnWhereNobodyIsThere") {
        const Devices devices(seldom_there(), 2, 1);
        double now_s = 0.0;
        const Cohort cohort = idle(2, {}, 2, Stream(1, Purpose::Sampling), devices, now_s);
        REQUIRE(!cohort.empty());
        CHECK(now_s == std::min(devices.next_available_s(0, 0.0), devices.next_available_s(1, 0.0)));
        CHECK(now_s > 0.0);
        double same_s = 0.0;
        CHECK(idle(2, {0}, 1, Stream(1, Purpose::Sampling), devices, same_s).empty());  // it waits for the busy one
        CHECK(same_s == 0.0);
    }

    TEST_CASE("TimeGoesOnToSomebodyWhomTheSamplerAsks") {
        const Devices devices(seldom_there(), 3, 1);
        const auto fixed = sampler_spec("fixed").build({.values = {{"clients", std::vector<double>{1}}}});
        double now_s = 0.0;
        CHECK(sample_idle(*fixed, 3, {}, 1, Stream(1, Purpose::Sampling), devices, now_s) == Cohort{1});
        CHECK(now_s == devices.next_available_s(1, 0.0));
        CHECK(now_s > std::min(devices.next_available_s(0, 0.0), devices.next_available_s(2, 0.0)));
    }

    TEST_CASE("SamplerIsToldOfAcceptedClients") {
        Arrivals arrived;
        arrived.clients.push_back({.client_id = 3,
                                   .num_examples = 40,
                                   .result = {.steps = 5, .train_loss = 0.5, .update_norm = 2.0, .seconds = 0.25},
                                   .trip_s = 7.0});
        arrived.clients.push_back({.client_id = 4, .failure = clients::FailureKind::LeftBehind});
        arrived.clients.push_back({.client_id = 6, .result = {.seconds = 0.125}});
        const std::vector<ClientOutcome> outcomes = outcomes_of(arrived);
        REQUIRE(outcomes.size() == 2);
        CHECK(outcomes[0].client_id == 3);
        CHECK(outcomes[0].num_examples == 40);
        CHECK(outcomes[0].steps == 5);
        CHECK(outcomes[0].train_loss == 0.5);
        CHECK(outcomes[0].update_norm == 2.0);
        CHECK(outcomes[0].seconds == 7.0);
        CHECK(outcomes[1].client_id == 6);
        CHECK(outcomes[1].seconds == 0.125);
    }
}
