// Noise that the server adds to a sum with less noise than its clients were to contribute, computed by hand.
#include "sim/round/missing_noise.h"

#include "tests/support/statistics.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

struct Came {
    std::uint32_t client;
    std::uint64_t staleness = 0;
    bool failed = false;
};

Arrivals arrivals(const std::vector<Came>& who) {
    Arrivals all;
    for (const Came& one : who) {
        ClientReport report;
        report.client_id = one.client;
        report.staleness = one.staleness;
        if (one.failed) report.failure = clients::FailureKind::Exception;
        all.clients.push_back(report);
    }
    return all;
}

/// A mode that discounts by 1 / (1 + tau).
Mode buffered(std::size_t quorum) {
    Mode mode;
    mode.late_join = true;
    mode.quorum = quorum;
    mode.staleness = {.function = Staleness::Function::Polynomial, .a = 1.0};
    return mode;
}

clients::UploadPlan chain(double norm, double multiplier) {
    clients::UploadPlan plan;
    plan.steps[plan.size++] = clients::upload_step("clip", {{"norm", norm}});
    plan.steps[plan.size++] = clients::upload_step("gaussian_noise", {{"multiplier", std::optional(multiplier)}});
    return plan;
}

}  // namespace

TEST_SUITE("MissingNoise") {
    TEST_CASE("NothingIsMissingWhereAllWhoWereAskedArriveAndCountAlike") {
        Mode all;
        all.quorum = all.in_flight = 12;
        for (const std::uint32_t asked : {1U, 3U, 7U, 12U}) {
            std::vector<Came> who;
            for (std::uint32_t client = 0; client < asked; ++client) who.push_back({client});
            CHECK(missing_variance(arrivals(who), all) == 0.0);
        }
        CHECK(missing_variance(arrivals({{0, 2}, {1, 2}, {5, 2}}), buffered(3)) == 0.0);
        CHECK(missing_variance(arrivals({{4, 6}}), buffered(1)) == 0.0);  // async
    }

    TEST_CASE("SharesOfFailedAndStaleClientsAreMissingAndThoseOfAClientThatComesTwice") {
        Mode three_of_four;
        three_of_four.quorum = 3;
        CHECK(missing_variance(arrivals({{0}, {1, 0, true}, {2}, {3, 0, true}}), three_of_four) ==
              doctest::Approx(1.0 - 2.0 / 3.0));
        CHECK(missing_variance(arrivals({{0}, {1, 1}}), buffered(2)) == doctest::Approx(1.0 - (1.0 + 0.25) / 2.0));
        CHECK(missing_variance(arrivals({{0, 1}, {1, 3}}), buffered(2)) ==
              doctest::Approx(0.25 - (0.25 + 0.0625) / 2.0));  // relative to the fresher one's weight
        CHECK(missing_variance(arrivals({{0}, {0}}), buffered(2)) == doctest::Approx(4.0 - 2.0 / 2.0));
        CHECK(missing_variance(arrivals({{0}, {0, 1, true}}), buffered(2)) == doctest::Approx(1.0 - 1.0 / 2.0));
        CHECK(missing_variance(arrivals({{0}, {1}}), buffered(4)) ==
              doctest::Approx(1.0 - 2.0 / 4.0));  // no other client in flight
    }

    TEST_CASE("ServerAddsItToTheMeanByRoundAndSeedAndNowhereElse") {
        aggregation::Layout layout;
        layout.add("weight", {101, 100});
        layout.add("bias", {5});
        Mode mode;
        mode.quorum = 4;
        const Arrivals one_failed = arrivals({{0}, {1}, {2, 0, true}, {3}});
        std::vector<float> values(layout.num_floats() + 32, 0.5F);
        const aggregation::Aggregate mean{values, 3.0, 3};
        const auto completed = [&](std::uint64_t seed, std::int64_t round, const Arrivals& arrived) {
            MissingNoise noise(chain(1.5, 2.0), seed, layout, {}, mode);
            const aggregation::Aggregate with = noise.completed(mean, arrived, round);
            CHECK(with.weight == 3.0);
            CHECK(with.clients == 3);
            return std::vector<float>(with.values.data, with.values.data + with.values.size);
        };
        const std::vector<float> with = completed(7, 2, one_failed);
        REQUIRE(with.size() == values.size());
        std::vector<double> drawn;
        for (std::size_t i = 0; i < 10'100; ++i) drawn.push_back(static_cast<double>(with[i]) - 0.5);
        CHECK(fedhive::testing::distance_from_normal(drawn, 0.0, 3.0 * std::sqrt(0.25) / 3.0) <
              fedhive::testing::kolmogorov_bound(drawn.size()));
        for (std::size_t i = layout.num_floats() - 8; i < with.size(); ++i) CHECK(with[i] == 0.5F);
        CHECK(completed(7, 2, one_failed) == with);
        CHECK(completed(7, 3, one_failed) != with);
        CHECK(completed(8, 2, one_failed) != with);
        CHECK(completed(7, 2, arrivals({{0}, {1}, {3}})) == values);
        CHECK(MissingNoise({}, 7, layout, {}, mode).completed(mean, one_failed, 2).values.data == values.data());
    }
}
