// Evaluation on held-out examples with real worker processes and a toy trainer that counts steps, so that
// results are known exactly.
#include "aggregation/base/clock.h"
#include "sim/fleet/fleet.h"
#include "tests/fleet/toy_fleet.h"

#include <doctest/doctest.h>

#include <limits>
#include <numeric>
#include <optional>
#include <vector>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

/// 12 clients of ten examples, three of them held out; batches of 4, so two steps per epoch. All clients but 7 are evaluated,
/// three per chunk.
struct EvaluatedToys : testing::ToyFleet {
    explicit EvaluatedToys(std::uint32_t workers, const char* fault = "", const char* client = "")
        : ToyFleet({64, 12}, fault, client,
                   clients::SharedDataset::create(clients::draw_synthetic({120, 25, 3, 4, 1.0}, 1),
                                                  clients::hold_out(clients::partition_contiguous(120, 12), 0.3, 1))) {
        FleetOptions options;
        options.workers = workers;
        options.slots = SlotPlan::even(1);
        options.mode.in_flight = 12;
        options.mode.quorum = 12;
        options.test_chunk = 9;
        for (std::uint32_t id = 0; id < 12; ++id)
            if (id != 7) options.evaluated_clients.push_back(id);
        evaluated = options.evaluated_clients;
        options.most_measured = 3;
        options.cross_losses = true;
        options.model_bytes = 100;
        options.update_bytes = 60;
        options.round_trip_s = [](std::uint32_t who, std::uint64_t examples, const Traffic& traffic) {
            return 0.25 * static_cast<double>(examples) / 3.0 + (who == 7 && traffic.up == 8 ? 0.75 : 0.0);
        };
        options.personalized = true;
        options.failures.policy = OnFailure::Retry;
        start(options, 4, 2);
    }

    Arrivals arrivals_of(const Cohort& cohort) {
        fleet->pull_down(cohort, server, strategy);
        fleet->train();
        const Arrivals arrived = fleet->barrier(server);
        fleet->release(arrived, server);
        return arrived;
    }

    float round_of_everybody() {
        Cohort cohort(12);
        std::iota(cohort.begin(), cohort.end(), 0U);
        fleet->pull_down(cohort, server, strategy);
        fleet->train();
        const Arrivals arrived = fleet->barrier(server);
        const float step = arrived.updates.front().values.data[0];
        fleet->release(arrived, server);
        return step;
    }

    std::vector<std::uint32_t> evaluated;
};

}  // namespace

TEST_SUITE("ClientEvaluation") {
    TEST_CASE("GlobalModelIsEvaluatedOnEachClientsOwnExamplesByAnyNumberOfWorkers") {
        for (const std::uint32_t workers : {0U, 1U, 3U}) {
            EvaluatedToys run(workers);
            run.server.model().data[0] = 2.0F;
            const auto results = run.fleet->evaluate_clients(run.server);
            REQUIRE(results.size() == 11);
            for (std::size_t i = 0; i < results.size(); ++i) {
                const auto held_out = run.dataset.held_out(run.evaluated[i]);
                REQUIRE(held_out.size() == 3);
                CHECK(results[i].loss() == 6.0);
                // The toy's `correct` is a pass's first example, and two go into a pass.
                CHECK(results[i].one("correct") == held_out[0] + held_out[2]);
            }
        }
    }

    TEST_CASE("PersonalizedModelsAreAnEpochAwayAndThrownAway") {
        for (const std::uint32_t workers : {0U, 3U}) {
            EvaluatedToys run(workers);
            run.server.model().data[0] = 2.0F;
            for (const clients::EvaluationSums& result : run.fleet->evaluate_personalized(run.server, {}))
                CHECK(result.loss() == (2.0 + 2.0) * 3.0);
            CHECK(run.server.model().data[0] == 2.0F);
            for (const clients::EvaluationSums& result : run.fleet->evaluate_clients(run.server)) CHECK(result.loss() == 6.0);
            // Nobody's training goes on from there, and the test examples are what they were.
            CHECK(run.round_of_everybody() == 2.0F);
            CHECK(run.fleet->evaluate(run.server).front().loss() == 2.0 * 9.0);
        }
    }

    TEST_CASE("LossesAreMeasuredOnWhatClientsTrainOnAndTakeSimulatedTime") {
        for (const std::uint32_t workers : {0U, 1U, 3U}) {
            EvaluatedToys run(workers);
            run.server.model().data[0] = 2.0F;
            // The toy's loss of an example is the model's first parameter.
            const auto losses = run.fleet->measure(run.server, {1, 4, 7});
            CHECK(losses == std::vector<std::optional<double>>{2.0, 2.0, 2.0});
            CHECK(run.server.now_s == 0.25 + 0.75);  // three of seven examples, and the slowest client's link
            CHECK(run.fleet->evaluate_clients(run.server).front().loss() == 6.0);
            const Arrivals first = run.arrivals_of({2});
            CHECK(first.traffic.down == 100 + 3 * 100);
            CHECK(first.traffic.up == 60 + 3 * 8);
            const Arrivals second = run.arrivals_of({2});
            CHECK(second.traffic.down == 100);
            CHECK(second.traffic.up == 60);
            run.server.model().data[0] = std::numeric_limits<float>::infinity();
            CHECK(run.fleet->measure(run.server, {3}) == std::vector<std::optional<double>>{std::nullopt});
        }
    }

    TEST_CASE("UpdatesAreEvaluatedOnEachOthersClientsByAnyNumberOfWorkersAndTakeSimulatedTime") {
        for (const std::uint32_t workers : {0U, 1U, 3U}) {
            EvaluatedToys run(workers);
            run.server.model().data[0] = 5.0F;
            run.fleet->pull_down(Cohort{1, 4, 7}, run.server, run.strategy);
            run.fleet->train();
            Arrivals arrived = run.fleet->barrier(run.server);
            const Traffic before = arrived.traffic;
            const double began_s = run.server.now_s;
            for (std::size_t k = 0; k < 3; ++k) run.arena.slot(arrived.updates[k].slot).data[0] = static_cast<float>(k);
            // The toy's loss of an example is the model's first parameter.
            CHECK(run.fleet->cross_losses(run.server, arrived, run.server.sent_index()) ==
                  std::vector<double>{5, 6, 7, 5, 6, 7, 5, 6, 7});
            CHECK(arrived.traffic.down == before.down + 3 * 2 * 100);
            CHECK(arrived.traffic.up == before.up);
            CHECK(run.server.now_s == began_s + 0.25);  // three passes forward over three examples are as one that trains
            run.fleet->release(arrived, run.server);
        }
    }

    TEST_CASE("CrossLossesThatFailAreTriedAgainThenEndTheRun") {
        EvaluatedToys run(2, "evaluate");
        run.fleet->pull_down(Cohort{1, 4}, run.server, run.strategy);
        run.fleet->train();
        Arrivals arrived = run.fleet->barrier(run.server);
        CHECK_THROWS_WITH_AS(run.fleet->cross_losses(run.server, arrived, run.server.sent_index()),
                             doctest::Contains("the toy cannot be evaluated"), RunAborted);
    }

    TEST_CASE("MeasuringThatFailsIsTriedAgainThenEndsTheRun") {
        EvaluatedToys run(2, "evaluate");
        CHECK_THROWS_WITH_AS(run.fleet->measure(run.server, {1, 4}), doctest::Contains("the toy cannot be evaluated"),
                             RunAborted);
        CHECK(run.fleet->failure_counts().retried >= 2);  // of the chunk that ended it …
        CHECK(run.fleet->failure_counts().retried <= 4);  // … and of the other one
    }

    TEST_CASE("ModelThatCannotBeTrainedIsTriedAgainThenEndsTheRun") {
        EvaluatedToys run(2, "throw", "5");
        CHECK(run.fleet->evaluate_clients(run.server).size() == 11);
        CHECK_THROWS_WITH_AS(run.fleet->evaluate_personalized(run.server, {}),
                             doctest::Contains("the toy broke (attempt 3 of 3)"), RunAborted);
        CHECK(run.fleet->failure_counts().retried == 2);
    }
}
