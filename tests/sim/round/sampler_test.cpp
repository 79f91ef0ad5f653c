#include "sim/round/sampler.h"

#include "aggregation/base/error.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

using namespace fedhive;
using namespace fedhive::sim;

TEST_SUITE("Sampler") {
    TEST_CASE("CohortIsSortedDistinctAndInRange") {
        for (const std::uint64_t population : {1ULL, 2ULL, 7ULL, 100ULL, 1'000'000ULL}) {
            for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{100}}) {
                if (count > population) continue;
                for (std::uint32_t round = 0; round < 20; ++round) {
                    const Cohort cohort = sample_uniform(population, count, Stream(3, Purpose::Sampling, round));
                    REQUIRE(cohort.size() == count);
                    REQUIRE(std::is_sorted(cohort.begin(), cohort.end()));
                    REQUIRE(std::set<std::uint32_t>(cohort.begin(), cohort.end()).size() == count);
                    REQUIRE(cohort.back() < population);
                }
            }
        }
    }

    TEST_CASE("EveryClientIsEquallyLikely") {
        std::map<std::uint32_t, int> drawn;
        constexpr int kRounds = 6000;
        for (std::uint32_t round = 0; round < kRounds; ++round)
            for (const std::uint32_t client : sample_uniform(10, 3, Stream(1, Purpose::Sampling, round))) ++drawn[client];
        // 1,800 expected, standard deviation 35.5: five of them.
        for (const auto& [client, times] : drawn) CHECK(std::abs(times - 1800) < 178);
    }

    TEST_CASE("SeedAndRoundDecide") {
        const auto draw = [](std::uint64_t seed, std::uint32_t round) {
            return sample_uniform(1000, 10, Stream(seed, Purpose::Sampling, round));
        };
        CHECK(draw(1, 0) == draw(1, 0));
        CHECK(draw(1, 0) != draw(2, 0));
        CHECK(draw(1, 0) != draw(1, 1));
    }

    TEST_CASE("MoreThanThereAreIsAFault") { CHECK_THROWS_AS(sample_uniform(3, 4, Stream(1, Purpose::Sampling)), Fault); }

    TEST_CASE("IdleSampleIsUniformWhereNobodyIsBusy") {
        const Devices devices({}, 100, 1);
        double now_s = 3.0;
        for (std::uint32_t round = 0; round < 20; ++round) {
            const Stream stream(2, Purpose::Sampling, round);
            CHECK(sample_idle(100, {}, 10, stream, devices, now_s) == sample_uniform(100, 10, stream));
        }
        CHECK(now_s == 3.0);
    }

    TEST_CASE("AllWhoAreIdleAreTakenAndBusyClientsNever") {
        DevicesConfig sometimes;
        sometimes.availability.scheme = "probability";
        sometimes.availability.values.set("probability", 0.5);
        const std::vector<std::uint32_t> busy{0, 3, 4, 19};
        for (const DevicesConfig& config : {DevicesConfig(), sometimes}) {
            const Devices devices(config, 20, 1);
            std::set<std::uint32_t> idle, seen;
            for (std::uint32_t client = 0; client < 20; ++client)
                if (devices.available(client, 0.0) && !std::binary_search(busy.begin(), busy.end(), client))
                    idle.insert(client);
            CHECK((idle.size() == 16) == devices.always_available());
            for (std::uint32_t round = 0; round < 200; ++round) {
                double now_s = 0.0;
                for (const std::uint32_t client :
                     sample_idle(20, busy, 16, Stream(1, Purpose::Sampling, round), devices, now_s)) {
                    CHECK_FALSE(std::binary_search(busy.begin(), busy.end(), client));
                    CHECK(devices.available(client, 0.0));
                    seen.insert(client);
                }
            }
            CHECK(seen == idle);
        }
    }

    TEST_CASE("IdleClientsKeepTheirNumbersBesideBusyOnes") {
        const Devices devices({}, 10, 1);
        double now_s = 0.0;
        for (const std::vector<std::uint32_t>& busy : {std::vector<std::uint32_t>{0, 1, 5, 9}, {3}, {9}, {0, 2, 4, 6, 8}}) {
            std::vector<std::uint32_t> idle;
            for (std::uint32_t client = 0; client < 10; ++client)
                if (!std::binary_search(busy.begin(), busy.end(), client)) idle.push_back(client);
            CHECK(sample_idle(10, busy, 10, Stream(1, Purpose::Sampling), devices, now_s) == idle);
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
            const Cohort cohort = sample_idle(20, busy, 2, Stream(1, Purpose::Sampling, round), devices, now_s);
            REQUIRE(cohort.size() == 2);
            REQUIRE(cohort[0] < cohort[1]);
            for (const std::uint32_t client : cohort) ++drawn[client];
        }
        CHECK(drawn.size() == there.size());
        const double expected = 2.0 * kRounds / static_cast<double>(there.size());
        for (const auto& [client, times] : drawn) CHECK(std::abs(times - expected) < 5.0 * std::sqrt(expected));
        // More are requested than are available: all of those.
        CHECK(sample_idle(20, busy, 20, Stream(1, Purpose::Sampling), devices, now_s) == there);
        CHECK(now_s == 0.0);
    }

    TEST_CASE("TimeGoesOnWhereNobodyIsThere") {
        DevicesConfig config;
        config.availability.scheme = "probability";
        config.availability.values.set("probability", 0.001);
        config.availability.values.set("period_s", 10.0);
        const Devices devices(config, 2, 1);
        double now_s = 0.0;
        const Cohort cohort = sample_idle(2, {}, 2, Stream(1, Purpose::Sampling), devices, now_s);
        REQUIRE(!cohort.empty());
        CHECK(now_s == std::min(devices.next_available_s(0, 0.0), devices.next_available_s(1, 0.0)));
        CHECK(now_s > 0.0);
        double same_s = 0.0;
        CHECK(sample_idle(2, {0}, 1, Stream(1, Purpose::Sampling), devices, same_s).empty());  // waits for the busy one
        CHECK(same_s == 0.0);
    }
}
