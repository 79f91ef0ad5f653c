// The fleet with real worker processes and a toy trainer that counts steps, so that arrivals are known exactly.
#include "sim/fleet/fleet.h"

#include "aggregation/base/clock.h"
#include "sim/run/evaluate.h"
#include "tests/aggregation/server_steps.h"
#include "tests/fleet/toy_fleet.h"
#include "tests/support/eventually.h"
#include "tests/support/golden_messages.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <numeric>

using namespace fedhive;
using namespace fedhive::sim;
using clients::FailureKind;

namespace {

/// 12 clients of ten examples; batches of 4: three steps per epoch.
struct ToyRun : testing::ToyFleet {
    explicit ToyRun(std::uint32_t workers, std::uint64_t clients_per_slot = 1, double deadline_s = 60.0, const char* fault = "",
                    const char* client = "", FleetOptions options = {})
        : ToyFleet({64, 12}, fault, client) {
        options.workers = workers;
        options.slots = SlotPlan::even(clients_per_slot);
        options.mode.in_flight = 12;
        options.mode.quorum = 12;
        options.test_chunk = 10;
        options.failures.deadline_s = deadline_s;
        start(options);
    }

    Arrivals round(const Cohort& cohort) {
        fleet->pull_down(cohort, server, strategy);
        fleet->train();
        Arrivals arrived = fleet->barrier(server);
        fleet->release(arrived, server);
        return arrived;
    }
};

Cohort everybody() {
    Cohort cohort(12);
    std::iota(cohort.begin(), cohort.end(), 0U);
    return cohort;
}

/// Runs a round and returns the failure that ends it.
clients::ClientFailure failure_of(ToyRun& run) {
    try {
        run.round(everybody());
    } catch (const RunAborted& aborted) {
        return aborted.failure;
    }
    FAIL("the round did not fail");
    return {};
}

FaultConfig fault(const std::string& kind, std::int64_t client, const std::string& at = "training",
                  FaultedAttempts attempts = FaultedAttempts::First) {
    FaultConfig result;
    result.kind = kind;
    result.client = client;
    if (at != "training") result.values.set("at", at.c_str());
    result.attempts = attempts;
    if (kind == "slow") result.values.set("seconds", 0.05);
    return result;
}

/// Only hung clients get a short deadline: on a busy machine others may take more than a second.
double deadline_for(const std::string& kind) { return kind == "hang" ? 1.5 : 60.0; }

FleetOptions with_policy(OnFailure policy, std::vector<FaultConfig> faults) {
    FleetOptions options;
    options.failures.policy = policy;
    options.faults = FaultSchedule(std::move(faults), 1);
    return options;
}

struct Told {
    clients::ClientFailure failure;
    FailureAction action;
};

/// Records the failures that the fleet reports.
std::vector<Told>& listen(ToyRun& run, std::vector<Told>& told) {
    run.fleet->on_failure([&](const clients::ClientFailure& failure, FailureAction action) {
        told.push_back({failure, action});
    });
    return told;
}

std::size_t num_children() {
    std::ifstream list(fmt::format("/proc/self/task/{}/children", getpid()));
    return static_cast<std::size_t>(std::distance(std::istream_iterator<pid_t>(list), {}));
}

/// Whether `count` workers are left, now or within a minute.
bool children_become(std::size_t count) {
    return testing::eventually(60.0, [&] { return num_children() == count; });
}

/// Kinds of injected faults, and the kind of failure that each is classified as.
const std::vector<std::pair<std::string, FailureKind>>& kinds_of_faults() {
    static const std::vector<std::pair<std::string, FailureKind>> kinds = {
        {"kill", FailureKind::Signalled}, {"hang", FailureKind::Hung},       {"throw", FailureKind::Exception},
        {"nan", FailureKind::NonFinite},  {"oom", FailureKind::OutOfMemory}, {"drop", FailureKind::Dropped}};
    return kinds;
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
            CHECK(*arrived.train_loss() == 1.0);
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
        const auto plain = aggregation::testing::plain_server(64);
        for (int round = 1; round <= 3; ++round) {
            const Arrivals arrived = run.round(everybody());
            auto& sum = *run.strategy.aggregator;
            sum.zero_init(64, aggregation::MemorySpace::Host);
            for (const auto& update : arrived.updates) sum.aggregate(update);
            run.server.server_step(*plain, sum.finish());
            CHECK(run.server.model().data[5] == 3.0F * static_cast<float>(round));
            CHECK(run.server.version == static_cast<std::uint64_t>(round));
        }
        clients::EvaluationSums sums{clients::SumsPlan{}};
        for (const clients::EvaluationSums& chunk : run.fleet->evaluate(run.server)) sums.add(chunk.values());
        CHECK(sums.loss() == 25 * 9.0);             // 25 examples
        CHECK(sums.one("correct") == 0 + 10 + 20);  // three chunks, in order
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
            ToyRun run(2, 1, 1.5, "hang", "3");
            std::atomic<bool> over{false};
            int in_a_row = 0;  // consecutive looks at which one of two workers was busy
            std::thread looking([&] {
                while (!over && in_a_row < 40) {
                    in_a_row = run.fleet->workers_busy() == std::pair<std::size_t, std::size_t>(1, 2) ? in_a_row + 1 : 0;
                    std::this_thread::sleep_for(std::chrono::milliseconds(5));
                }
            });
            const auto failure = failure_of(run);
            over = true;
            looking.join();
            CHECK(in_a_row == 40);  // the other clients were done, this one was not
            CHECK(failure.kind == FailureKind::Hung);
            CHECK(failure.client_id == 3);
        }
        CHECK(seconds_between(start, now_ns()) < 60.0);  // without the deadline it would hang for ever
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

    TEST_CASE("RetriedClientArrivesAsIfNothingHadHappened") {
        for (const std::uint32_t workers : {0U, 2U})
            for (const std::uint64_t per_slot : {1U, 4U})
                for (const std::string at : {"training", "update"})
                    for (const auto& [kind, found] : kinds_of_faults()) {
                        if (at == "update" && (kind == "nan" || kind == "drop")) continue;  // these faults have no such moment
                        CAPTURE(workers);
                        CAPTURE(per_slot);
                        CAPTURE(kind);
                        CAPTURE(at);
                        ToyRun run(workers, per_slot, deadline_for(kind), "", "",
                                   with_policy(OnFailure::Retry, {fault(kind, 6, at)}));
                        std::vector<Told> told;
                        listen(run, told);
                        for (int round = 0; round < 2; ++round) {
                            const Arrivals arrived = run.round(everybody());
                            CHECK(arrived.accepted() == 12);
                            CHECK(arrived.updates.size() == 12 / per_slot);
                            for (const auto& update : arrived.updates)
                                CHECK(update.values.data[7] == 3.0F * static_cast<float>(per_slot));
                        }
                        REQUIRE(told.size() == 2);  // once per round
                        CHECK(told[0].failure.kind == found);
                        CHECK(told[0].failure.client_id == 6);
                        CHECK(told[0].failure.round == 1);
                        CHECK(told[0].failure.attempt == 1);
                        CHECK(run.fleet->failure_counts().failures == 2);
                        CHECK(run.fleet->failure_counts().retried == 2);
                    }
    }

    TEST_CASE("DroppedClientIsLeftOutAndTheOthersArrive") {
        for (const std::uint32_t workers : {0U, 3U})
            for (const std::uint64_t per_slot : {1U, 4U})
                for (const auto& [kind, found] : kinds_of_faults()) {
                    if (kind == "oom") continue;  // retried first under any policy
                    CAPTURE(workers);
                    CAPTURE(per_slot);
                    CAPTURE(kind);
                    const FleetOptions options = with_policy(OnFailure::Drop, {fault(kind, 6), fault("throw", 5)});
                    ToyRun run(workers, per_slot, deadline_for(kind), "", "", options);
                    std::vector<Told> told;
                    listen(run, told);
                    const Arrivals arrived = run.round(everybody());
                    CHECK(arrived.accepted() == 10);
                    REQUIRE(arrived.clients.size() == 12);
                    CHECK(arrived.clients[6].failure == found);
                    CHECK(arrived.clients[5].failure == FailureKind::Exception);
                    CHECK(arrived.clients[6].result.steps == 0);
                    double weight = 0.0;
                    for (const auto& update : arrived.updates) {
                        weight += update.weight;
                        CHECK(static_cast<double>(update.values.data[0]) * update.scale == 3.0 * update.weight);
                    }
                    CHECK(weight == 10.0);
                    CHECK(told.size() == 2);
                    CHECK(told[0].action == FailureAction::Dropped);
                    CHECK(run.round({1, 2, 3, 4}).accepted() == 4);
                }
    }

    TEST_CASE("WholeSlotAndWholeCohortCanBeDropped") {
        std::vector<FaultConfig> faults;
        for (int client = 4; client < 8; ++client) faults.push_back(fault(client % 2 == 0 ? "drop" : "throw", client));
        ToyRun run(2, 4, 60.0, "", "", with_policy(OnFailure::Drop, faults));
        const Arrivals arrived = run.round(everybody());
        REQUIRE(arrived.updates.size() == 2);
        CHECK(arrived.updates[1].position == 8);
        const Arrivals nobody = run.round({4, 5, 6, 7});
        CHECK(nobody.accepted() == 0);
        CHECK(nobody.updates.empty());
        CHECK_FALSE(nobody.train_loss());
    }

    TEST_CASE("ClientThatFailsAtEveryAttemptEndsTheRun") {
        for (const std::string kind : {"throw", "kill", "nan", "drop"}) {
            ToyRun run(2, 1, 60.0, "", "", with_policy(OnFailure::Retry, {fault(kind, 3, "training", FaultedAttempts::All)}));
            std::vector<Told> told;
            listen(run, told);
            const auto failure = failure_of(run);
            CHECK(failure.client_id == 3);
            CHECK(failure.attempt == 3);
            CHECK(failure.message.find("attempt 3 of 3") != std::string::npos);
            REQUIRE(told.size() == 3);
            CHECK(told[2].action == FailureAction::Aborted);
        }
    }

    TEST_CASE("AbortEndsTheRunAtTheFirstFailureThoughOthersAreAtWork") {
        const std::int64_t start = now_ns();
        ToyRun run(2, 1, 60.0, "hang", "0", with_policy(OnFailure::Abort, {fault("throw", 9)}));
        CHECK(failure_of(run).client_id == 9);
        CHECK(seconds_between(start, now_ns()) < 45.0);  // client 0 has 60 s
    }

    TEST_CASE("ClientWithoutMemoryIsTriedAgainWithFewerWorkers") {
        ToyRun run(4, 1, 60.0, "", "", with_policy(OnFailure::Abort, {fault("oom", 3, "training", FaultedAttempts::All)}));
        std::vector<Told> told;
        listen(run, told);
        const auto failure = failure_of(run);
        CHECK(failure.kind == FailureKind::OutOfMemory);
        CHECK(failure.message.find("no other worker was at work") != std::string::npos);
        REQUIRE(told.size() == 3);
        CHECK(told[0].failure.message.find("tried again with 2 workers") != std::string::npos);
        CHECK(told[1].failure.message.find("tried again with 1 worker") != std::string::npos);
        CHECK(told[1].action == FailureAction::FewerWorkers);
        CHECK(children_become(1));
    }

    TEST_CASE("RoundsGoOnWithFewerWorkersAfterMemoryRanOut") {
        ToyRun run(4, 1, 60.0, "", "", with_policy(OnFailure::Abort, {fault("oom", 3)}));
        CHECK(run.round(everybody()).accepted() == 12);
        CHECK(children_become(2));
        CHECK(run.round({1, 2, 5}).accepted() == 3);
        CHECK(run.fleet->evaluate(run.server).size() == 3);
        CHECK(run.fleet->workers_busy() == std::pair<std::size_t, std::size_t>(0, 2));
    }

    TEST_CASE("WorkersThatNeverStartEndTheRunAfterTwenty") {
        for (const OnFailure policy : {OnFailure::Drop, OnFailure::Retry}) {
            ToyRun run(2, 1, 60.0, "start", "", with_policy(policy, {}));
            const auto failure = failure_of(run);
            CHECK(failure.message.starts_with("the toy cannot start"));
            CHECK_MESSAGE_IS("fleet", "", failure.message);
        }
    }

    TEST_CASE("LostWorkerIsReplacedAndNothingIsLeft") {
        {
            ToyRun run(3, 1, 60.0, "", "",
                       with_policy(OnFailure::Retry, {fault("kill", 2), fault("kill", 5), fault("kill", 8)}));
            for (int round = 0; round < 5; ++round) CHECK(run.round(everybody()).accepted() == 12);
            CHECK(run.fleet->failure_counts().workers_replaced == 15);
            CHECK(run.fleet->failure_counts().deaths_in_a_row == 0);
            CHECK(children_become(3));
        }
        CHECK(children_become(0));
    }

    TEST_CASE("ChunkOfTheEvaluationIsTriedAgainAndNeverDropped") {
        for (const OnFailure policy : {OnFailure::Drop, OnFailure::Retry}) {
            ToyRun run(2, 1, 60.0, "evaluate", "", with_policy(policy, {}));
            std::vector<Told> told;
            listen(run, told);
            CHECK_THROWS_WITH_AS(run.fleet->evaluate(run.server), doctest::Contains("attempt 3 of 3"), RunAborted);
            CHECK(told.size() >= 3);
        }
    }
}
