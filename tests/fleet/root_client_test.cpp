// The server's root client beside a cohort, with real worker processes and the toy trainer that counts steps.
#include "sim/fleet/fleet.h"

#include "tests/fleet/toy_fleet.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::sim;
using clients::FailureKind;

namespace {

constexpr std::uint32_t kRoot = 11;

/// 11 clients of ten examples, and ten root examples, so that the toy knows the root client as client 11.
clients::SharedDataset with_root() {
    clients::Split split{clients::partition_contiguous(110, 11), {}};
    for (std::uint32_t example = 110; example < 120; ++example) split.root.push_back(example);
    return clients::SharedDataset::create(clients::draw_synthetic({120, 25, 3, 4, 1.0}, 1), split);
}

/// Cohorts of up to six; batches of 4: three steps per epoch.
struct RootRun : testing::ToyFleet {
    explicit RootRun(std::uint32_t workers, FleetOptions options = {}, const char* fault = "", std::size_t quorum = 6,
                     std::uint64_t root = 1)
        : ToyFleet({64, 7}, fault, "11", with_root()) {
        options.workers = workers;
        options.slots = SlotPlan::even(1);
        options.slots.root = root;
        options.mode.in_flight = 6;
        options.mode.quorum = quorum;
        options.model_bytes = options.update_bytes = 100;
        options.round_trip_s = [](std::uint32_t client, std::uint64_t, const Traffic&) {
            REQUIRE(client != kRoot);
            return 1.0 + client;
        };
        start(options);
        fleet->on_failure([this](const clients::ClientFailure& failure, FailureAction action) {
            told.push_back(fmt::format("{}: {}", failure.client_id, to_string(action)));
        });
    }

    Arrivals round(const Cohort& cohort) {
        fleet->pull_down(cohort, server, strategy);
        fleet->train();
        Arrivals arrived = fleet->barrier(server);
        if (arrived.root) root_update = arrived.root->values.data[63];
        fleet->release(arrived, server);
        ++server.round;
        return arrived;
    }

    std::vector<std::string> told;
    float root_update = 0.0F;
};

FaultConfig fault_to_inject(const std::string& kind, std::optional<std::int64_t> client,
                            FaultedAttempts attempts = FaultedAttempts::First) {
    FaultConfig result;
    result.kind = kind;
    result.client = client;
    result.attempts = attempts;
    return result;
}

FleetOptions policy_and(OnFailure policy, std::vector<FaultConfig> faults) {
    FleetOptions options;
    options.failures.policy = policy;
    options.failures.deadline_s = 60.0;
    options.faults = FaultSchedule(std::move(faults), 1);
    return options;
}

}  // namespace

TEST_SUITE("RootClient") {
    TEST_CASE("ItTrainsBesideEveryCohortAndIsInNoCount") {
        for (const std::uint32_t workers : {0U, 1U, 3U}) {
            RootRun run(workers), without(workers, {}, "", 6, 0);
            for (int round = 0; round < 3; ++round) {
                const Arrivals arrived = run.round({2, 5, 9});
                const Arrivals plain = without.round({2, 5, 9});
                REQUIRE(arrived.root);
                CHECK_FALSE(plain.root);
                CHECK(run.root_update == 3.0F);
                CHECK(arrived.updates.size() == 3);
                CHECK(arrived.num_arrived == 3);
                CHECK(arrived.clients.size() == 3);
                CHECK(arrived.order == plain.order);
                CHECK(arrived.traffic.down == plain.traffic.down);
                CHECK(arrived.traffic.up == plain.traffic.up);
                CHECK(run.server.now_s == without.server.now_s);
                CHECK(run.fleet->in_flight().empty());
                CHECK(run.fleet->on_their_way().empty());
                for (const std::uint32_t readers : run.server.readers) CHECK(readers == 0);
            }
            run.round({0, 1, 2, 3, 4, 5});  // it has a slot beside the largest cohort
            CHECK(run.root_update == 3.0F);
        }
    }

    TEST_CASE("ItIsWaitedForWhateverTheQuorumAndNotSentWithoutACohort") {
        RootRun run(2, {}, "", 2);
        const Arrivals arrived = run.round({1, 4, 6, 7});
        CHECK(arrived.num_arrived == 2);
        CHECK(arrived.left_behind() == 2);
        REQUIRE(arrived.root);
        CHECK(run.root_update == 3.0F);
        CHECK_FALSE(run.round({}).root);
    }

    TEST_CASE("ItIsTriedAgainUnderRetryAndUnderDropWithTheSameUpdate") {
        for (const OnFailure policy : {OnFailure::Retry, OnFailure::Drop})
            for (const char* kind : {"kill", "throw", "nan", "drop"}) {
                CAPTURE(kind);
                RootRun run(2, policy_and(policy, {fault_to_inject(kind, kRoot)}));
                const Arrivals arrived = run.round({0, 3});
                CHECK(arrived.num_arrived == 2);
                REQUIRE(arrived.root);
                CHECK(run.root_update == 3.0F);
                REQUIRE(run.told.size() == 1);
                CHECK(run.told.front() == "11: retried");
            }
    }

    TEST_CASE("ThatItCannotTrainEndsTheRunAndSaysWho") {
        for (const auto& [policy, attempts] : {std::pair(OnFailure::Drop, 3), {OnFailure::Retry, 3}, {OnFailure::Abort, 1}}) {
            RootRun run(1, policy_and(policy, {}), "throw");
            try {
                run.round({0, 3});
                FAIL("the round did not fail");
            } catch (const RunAborted& aborted) {
                CHECK(aborted.failure.client_id == kRoot);
                CHECK(aborted.failure.message.find("the server's root client: ") == 0);
                CHECK(aborted.failure.attempt == attempts);
            }
        }
    }

    TEST_CASE("FaultsOfEveryClientDoNotMeanIt") {
        RootRun run(2, policy_and(OnFailure::Drop, {fault_to_inject("throw", {}, FaultedAttempts::All)}));
        const Arrivals arrived = run.round({0, 3});
        CHECK(arrived.num_arrived == 0);
        REQUIRE(arrived.root);
        CHECK(run.root_update == 3.0F);
        std::ranges::sort(run.told);  // two workers: either client may fail first
        CHECK(run.told == std::vector<std::string>{"0: dropped", "3: dropped"});
        const FaultSchedule by_name({fault_to_inject("kill", {}), fault_to_inject("nan", kRoot)}, 1);
        CHECK(by_name.at(0, kRoot, 0, 1, true)->kind == "nan");
        CHECK(by_name.at(0, kRoot, 0, 1)->kind == "kill");
    }
}
