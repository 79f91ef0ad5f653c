// The fleet with real worker processes and a toy that counts steps: what arrives is known exactly.
#include "sim/fleet.h"

#include "aggregation/base/clock.h"
#include "aggregation/memory/host_arena.h"
#include "clients/data/synthetic.h"
#include "sim/evaluate.h"
#include "tests/fleet/toy_trainer.h"

#include <doctest/doctest.h>

#include <numeric>

using namespace fedhive;
using namespace fedhive::sim;
using clients::FailureKind;

namespace {

/// 12 clients of ten examples; batches of 4: three steps an epoch.
struct ToyRun {
    explicit ToyRun(std::uint32_t workers, std::uint64_t clients_per_slot = 1, double deadline_s = 60.0, const char* fault = "",
                    const char* client = "")
        : dataset(clients::SharedDataset::create(clients::draw_synthetic({120, 25, 3, 4, 1.0}, 1),
                                                 clients::partition_contiguous(120, 12))),
          arena({64, 12}),
          server{arena},
          strategy(make_strategy("fedavg", {}, Weighting::Uniform)) {
        setenv("TOY_FAULT", fault, 1);
        setenv("TOY_CLIENT", client, 1);
        FleetOptions options;
        options.workers = workers;
        options.clients_per_slot = clients_per_slot;
        options.max_cohort = 12;
        options.test_chunk = 10;
        options.deadline_s = deadline_s;
        clients::WorkerPlan plan;
        plan.training = {1, 1, 4};
        plan.arena = arena.geometry();
        plan.arena_descriptor = arena.descriptor();
        plan.data_descriptor = dataset.descriptor();
        plan.data = dataset.map();
        fleet = std::make_unique<Fleet>(options, plan, arena, dataset, testing::make_toy_trainer);
    }

    Arrivals round(const Cohort& cohort) {
        fleet->pull_down(cohort, server, strategy);
        fleet->train();
        return fleet->barrier(cohort.size());
    }

    clients::SharedDataset dataset;
    aggregation::HostArena arena;
    ServerState server;
    Strategy strategy;
    std::unique_ptr<Fleet> fleet;
};

Cohort everybody() {
    Cohort cohort(12);
    std::iota(cohort.begin(), cohort.end(), 0U);
    return cohort;
}

/// The failure that ends the round.
clients::ClientFailure failure_of(ToyRun& run) {
    try {
        run.round(everybody());
    } catch (const RunAborted& aborted) {
        return aborted.failure;
    }
    FAIL("the round did not fail");
    return {};
}

}  // namespace

TEST_SUITE("Fleet") {
    TEST_CASE("UpdatesArriveInCohortOrderWithTheirWeights") {
        for (const std::uint32_t workers : {0U, 1U, 3U}) {
            ToyRun run(workers);
            run.strategy.weighting = Weighting::Examples;
            const Arrivals arrived = run.round({2, 5, 11});
            REQUIRE(arrived.updates.size() == 3);
            REQUIRE(arrived.clients.size() == 3);
            for (std::size_t i = 0; i < 3; ++i) {
                CHECK(arrived.updates[i].position == i);
                CHECK(arrived.updates[i].scale == 10.0);
                CHECK(arrived.updates[i].values.data[63] == 3.0F);  // three steps of 1
                CHECK(arrived.clients[i].result.steps == 3);
                CHECK(arrived.clients[i].num_examples == 10);
            }
            CHECK(arrived.clients[2].client_id == 11);
            CHECK(arrived.train_loss() == 1.0);
        }
    }

    TEST_CASE("SlotOfSeveralClientsHoldsTheirWeightedSum") {
        ToyRun run(2, 4);
        run.strategy.weighting = Weighting::Examples;
        const Arrivals arrived = run.round({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
        REQUIRE(arrived.updates.size() == 3);
        CHECK(arrived.clients.size() == 10);
        CHECK(arrived.updates[0].values.data[0] == 4 * 10 * 3.0F);
        CHECK(arrived.updates[0].scale == 1.0);
        CHECK(arrived.updates[0].weight == 40.0);
        CHECK(arrived.updates[2].values.data[0] == 2 * 10 * 3.0F);
        CHECK(arrived.updates[2].clients == 2);
    }

    TEST_CASE("ServerStepIsSeenByTheNextRound") {
        ToyRun run(2);
        for (int round = 1; round <= 3; ++round) {
            const Arrivals arrived = run.round(everybody());
            auto& sum = *run.strategy.aggregator;
            sum.zero_init(64, aggregation::MemorySpace::Host);
            for (const auto& update : arrived.updates) sum.aggregate(update);
            run.server.server_step(*run.strategy.server_optimizer, sum.finish());
            CHECK(run.server.model().data[5] == 3.0F * static_cast<float>(round));
            CHECK(run.server.version == static_cast<std::uint64_t>(round));
        }
        const Metrics metrics = evaluate(*run.fleet, run.server, 25);
        CHECK(metrics.test_loss == 9.0);                       // 25 examples times 9, over 25
        CHECK(metrics.test_accuracy == (0 + 10 + 20) / 25.0);  // three chunks, in order
    }

    TEST_CASE("EmptyRoundsAndTrainingRoundsMix") {
        ToyRun run(3);
        for (int i = 0; i < 50; ++i) {
            run.fleet->empty_round(12);
            CHECK(run.round({7}).updates[0].values.data[0] == 3.0F);
        }
    }
}

TEST_SUITE("FleetFailures") {
    TEST_CASE("ExceptionInTrainingNamesClientRoundAndText") {
        for (const std::uint32_t workers : {0U, 2U}) {
            ToyRun run(workers, 1, 60.0, "throw", "7");
            run.server.round = 4;
            const auto failure = failure_of(run);
            CHECK(failure.kind == FailureKind::Exception);
            CHECK(failure.client_id == 7);
            CHECK(failure.round == 5);
            CHECK(failure.message == "the toy broke");
        }
    }

    TEST_CASE("ExceptionInsideASlotOfSeveralNamesTheClient") {
        ToyRun run(2, 4, 60.0, "throw", "6");
        CHECK(failure_of(run).client_id == 6);
    }

    TEST_CASE("NotANumberNamesTheClient") {
        ToyRun run(2, 4, 60.0, "nan", "9");
        const auto failure = failure_of(run);
        CHECK(failure.kind == FailureKind::NonFinite);
        CHECK(failure.client_id == 9);
    }

    TEST_CASE("HangingClientIsNamedAfterItsDeadlineAndItsWorkerIsKilled") {
        const std::int64_t start = now_ns();
        {
            ToyRun run(2, 1, 1.0, "hang", "3");
            const auto failure = failure_of(run);
            CHECK(failure.kind == FailureKind::Hung);
            CHECK(failure.client_id == 3);
        }
        CHECK(seconds_between(start, now_ns()) < 6.0);
    }

    TEST_CASE("WorkerThatCannotStartTellsWhy") {
        ToyRun run(2, 1, 60.0, "start");
        const auto failure = failure_of(run);
        CHECK(failure.kind == FailureKind::Exited);
        CHECK(failure.message == "the toy cannot start");
    }

    TEST_CASE("ExceptionInEvaluationEndsTheRun") {
        ToyRun run(2, 1, 60.0, "evaluate");
        run.round({1});
        CHECK_THROWS_WITH_AS(run.fleet->evaluate(run.server), doctest::Contains("the toy cannot be evaluated"), RunAborted);
    }
}
