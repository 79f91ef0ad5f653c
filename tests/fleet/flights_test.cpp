// Clients in flight over many rounds, with real worker processes and the toy trainer that counts steps.
#include "sim/fleet/fleet.h"

#include "tests/aggregation/server_steps.h"
#include "tests/aggregation/spans.h"
#include "tests/fleet/toy_fleet.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <map>
#include <set>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

/// Eight of 12 clients in flight, three steps each; by default client k takes (k * 5 % 12) + 1 simulated seconds.
struct FlyingRun : testing::ToyFleet {
    FlyingRun(std::uint32_t workers, std::size_t quorum, bool late_join, FleetOptions options = {}, bool wall_clock = false)
        : ToyFleet({.num_floats = 64, .num_slots = 16, .num_globals = 10}) {
        options.workers = workers;
        options.mode.in_flight = 8;
        options.mode.quorum = quorum;
        options.mode.late_join = late_join;
        if (!wall_clock && !options.round_trip_s)
            options.round_trip_s = [](std::uint32_t client, std::uint64_t, const Traffic&) { return client * 5 % 12 + 1.0; };
        start(options);
    }

    /// A round where the i-th arrival is replaced by replacements[i].
    Arrivals round(const Cohort& cohort, const std::vector<Cohort>& replacements = {}) {
        fleet->pull_down(cohort, server, strategy);
        fleet->train();
        Arrivals arrived = fleet->barrier(server, [&](std::size_t num_arrived) {
            CHECK(num_arrived == ++replaced);
            if (num_arrived <= replacements.size()) fleet->pull_down(replacements[num_arrived - 1], server, strategy);
        });
        replaced = 0;
        for (const auto& update : arrived.updates) CHECK(update.values.data[63] == 3.0F);
        auto& sum = *strategy.aggregator;
        sum.zero_init(64, aggregation::MemorySpace::Host);
        for (const auto& update : arrived.updates) sum.aggregate(update);
        if (!arrived.updates.empty()) server.server_step(*aggregation::testing::plain_server(64), sum.finish());
        fleet->release(arrived, server);
        ++server.round;
        return arrived;
    }

    std::size_t replaced = 0;  // in this round
};

std::vector<std::uint32_t> who(const Arrivals& arrived) {
    std::vector<std::uint32_t> clients;
    for (const ClientReport& client : arrived.clients)
        if (!client.failure) clients.push_back(client.client_id);
    return clients;
}

/// The updates' weights, by client.
std::vector<double> weights_of(const Arrivals& arrived) {
    std::vector<double> weights;
    for (const aggregation::Update& update : arrived.updates) weights.push_back(update.weight);
    return weights;
}

const Cohort kEight{0, 1, 2, 3, 4, 5, 6, 7};  // arrive at 1, 6, 11, 4, 9, 2, 7, 12

struct Mean {
    std::vector<std::uint32_t> order;  // of arrival
    std::vector<float> values;
};

/// The mean of eight different updates that arrive after these times.
Mean mean_of_eight(std::vector<double> round_trips_s) {
    FleetOptions options;
    options.round_trip_s = [=](std::uint32_t client, std::uint64_t, const Traffic&) { return round_trips_s.at(client); };
    FlyingRun run(2, 8, true, options);
    run.fleet->pull_down(kEight, run.server, run.strategy);
    run.fleet->train();
    Arrivals arrived = run.fleet->barrier(run.server);
    auto& sum = *run.strategy.aggregator;
    sum.zero_init(64, aggregation::MemorySpace::Host);
    for (std::size_t i = 0; i < arrived.updates.size(); ++i) {
        const ClientReport& client = arrived.clients.at(i);
        aggregation::copy(run.arena.slot(client.slot), aggregation::testing::random_floats(64, client.client_id));
        arrived.updates[i].scale = arrived.updates[i].weight = 1.0 + client.client_id / 7.0;
        sum.aggregate(arrived.updates[i]);
    }
    const auto mean = sum.finish().values.host();
    return {arrived.order, {mean.begin(), mean.end()}};
}

}  // namespace

TEST_SUITE("FleetFlights") {
    TEST_CASE("AClientThatWasDrawnSeveralTimesTrainsOnceAndCountsAsOften") {
        FlyingRun run(2, 8, false);
        run.fleet->pull_down(CountedCohort{{1, 4, 6}, {1, 3, 2}}, run.server, run.strategy);
        run.fleet->train();
        const Arrivals arrived = run.fleet->barrier(run.server);
        CHECK(weights_of(arrived) == std::vector<double>{1.0, 3.0, 2.0});
        CHECK(arrived.clients[1].draws == 3);
        CHECK(arrived.num_arrived == 3);
        run.fleet->release(arrived, run.server);
        const Arrivals once = run.round({1, 4, 6});
        CHECK(weights_of(once) == std::vector<double>{1.0, 1.0, 1.0});
        CHECK(once.clients[1].draws == 1);
    }

    TEST_CASE("ArrivalsComeInOrderOfSimulatedTimeForAnyNumberOfWorkers") {
        for (const std::uint32_t workers : {0U, 1U, 3U}) {
            FlyingRun run(workers, 2, true);
            CHECK(who(run.round(kEight)) == Cohort{0, 5});
            CHECK(run.server.now_s == 2.0);
            const Arrivals second = run.round({8, 9});  // at 2 + 5, 2 + 10
            CHECK(who(second) == Cohort{1, 3});
            CHECK(second.clients[0].staleness == 1);
            CHECK(second.clients[0].sent_round == 0);
            CHECK(who(run.round({})) == Cohort{6, 8});
            CHECK(run.server.now_s == 7.0);
            const Arrivals fourth = run.round({});
            CHECK(who(fourth) == Cohort{2, 4});
            CHECK(fourth.clients[0].staleness == 3);
            CHECK(fourth.staleness_mean() == 3.0);
            CHECK(who(run.round({})) == Cohort{7, 9});
            CHECK(run.fleet->in_flight().empty());
            for (const std::uint32_t readers : run.server.readers) CHECK(readers == 0);
        }
    }

    TEST_CASE("UpdatesThatArriveInAnyOrderGiveTheSameBits") {
        const Mean in_order = mean_of_eight({1, 2, 3, 4, 5, 6, 7, 8});
        CHECK(in_order.order == kEight);
        const Mean backwards = mean_of_eight({8, 7, 6, 5, 4, 3, 2, 1});
        CHECK(backwards.order == Cohort{7, 6, 5, 4, 3, 2, 1, 0});
        CHECK(backwards.values == in_order.values);
        const Mean mixed = mean_of_eight({3, 8, 1, 6, 2, 7, 5, 4});
        CHECK(mixed.order == Cohort{2, 4, 0, 7, 6, 3, 5, 1});
        CHECK(mixed.values == in_order.values);
    }

    TEST_CASE("WhoArrivesIsReplacedAtThatTimeAndMayComeAgainInTheRound") {
        for (const std::uint32_t workers : {0U, 1U, 3U}) {
            FlyingRun run(workers, 3, true);
            const Arrivals first = run.round(kEight, {{10}, {0}});  // 10 is sent at 1, due at 4; 0 again at 2, due at 3
            CHECK(first.order == Cohort{0, 5, 0});
            CHECK(who(first) == Cohort{0, 0, 5});
            CHECK(run.server.now_s == 3.0);
            CHECK(first.updates.size() == 3);
            CHECK(first.staleness_sum == 0);
            CHECK(run.fleet->on_their_way() == Cohort{1, 2, 3, 4, 6, 7, 10});
            CHECK(run.fleet->in_flight().size() == 7);
            const Arrivals second = run.round({8}, {{0}, {}});  // 3 and 10 are due at 4, 0 at 5
            CHECK(second.order == Cohort{3, 10, 0});
            CHECK(run.server.now_s == 5.0);
            CHECK(second.clients[0].staleness == 0);  // sent after the step
            CHECK(second.clients[1].staleness == 1);
            CHECK(second.clients[2].staleness == 1);
            CHECK(second.clients[2].sent_round == 0);  // of client 10, sent in the middle of round 0
            CHECK(run.fleet->on_their_way() == Cohort{1, 2, 4, 6, 7, 8});
        }
    }

    TEST_CASE("SendingsOfAClientInOneRoundAreCountedOverAResumeToo") {
        FlyingRun run(0, 3, true);
        CHECK(run.round(kEight, {{0}, {0}}).order == Cohort{0, 0, 5});  // at 1, 2 and 2
        const auto repeats = [](const Fleet& fleet) {
            std::map<std::uint32_t, std::uint32_t> counts;
            for (const InFlight& one : fleet.in_flight()) counts[one.client_id] = one.repeat;
            return counts;
        };
        const std::map<std::uint32_t, std::uint32_t> expected{{0, 2}, {1, 0}, {2, 0}, {3, 0}, {4, 0}, {6, 0}, {7, 0}};
        CHECK(repeats(*run.fleet) == expected);
        FlyingRun resumed(0, 3, true);
        resumed.server.version = resumed.server.round = 1;
        for (const InFlight& one : run.fleet->in_flight()) resumed.fleet->take_up(one, resumed.server, resumed.strategy);
        CHECK(repeats(*resumed.fleet) == expected);
        CHECK(run.round({5}, {{0}}).order == Cohort{0, 0, 3});  // at 3, 4 and 4
        CHECK(repeats(*run.fleet)[5] == 0);                     // counted per round
    }

    TEST_CASE("OnTheWallClockWhoHasReallyFinishedIsReplaced") {
        FlyingRun run(0, 3, true, {}, true);
        const Arrivals first = run.round(kEight, {{8}, {9}});
        CHECK(first.order == Cohort{0, 1, 2});  // one by one
        CHECK(run.fleet->on_their_way() == Cohort{3, 4, 5, 6, 7, 8, 9});
        CHECK(run.server.now_s == 0.0);
        CHECK(run.round({0}, {{1}, {2}}).order == Cohort{3, 4, 5});
        CHECK(run.round({}).order == Cohort{6, 7, 8});
        CHECK(run.round({}).order == Cohort{9, 0, 1});
    }

    /// The order in which workers claim tasks during a sending is undefined, and so is the order of arrivals.
    TEST_CASE("OnTheWallClockEverySendingArrivesOnce") {
        FlyingRun run(2, 3, true, {}, true);
        std::multiset<std::uint32_t> sent(kEight.begin(), kEight.end());
        sent.insert({8, 9, 0, 1, 2});
        std::multiset<std::uint32_t> arrived;
        const auto round = [&](const Cohort& cohort, const std::vector<Cohort>& replacements) {
            const Arrivals here = run.round(cohort, replacements);
            CHECK(here.order.size() == 3);
            arrived.insert(here.order.begin(), here.order.end());
        };
        round(kEight, {{8}, {9}});
        CHECK(run.fleet->on_their_way().size() == 7);
        round({0}, {{1}, {2}});
        round({}, {});
        round({}, {});
        const Cohort left = run.fleet->on_their_way();
        arrived.insert(left.begin(), left.end());
        CHECK(arrived == sent);
        CHECK(run.server.now_s == 0.0);
    }

    TEST_CASE("DroppedClientIsReplacedToo") {
        for (const bool wall_clock : {false, true}) {
            FleetOptions options;
            options.failures.policy = OnFailure::Drop;
            FaultConfig broken;
            broken.kind = "throw";
            broken.client = 0;
            options.faults = FaultSchedule({broken}, 1);
            FlyingRun run(1, 3, true, options, wall_clock);
            const Arrivals first = run.round(kEight, {{10}, {11}});
            CHECK(first.clients.size() == 3);
            CHECK(first.accepted() == 2);
            CHECK(first.order[0] == 0);
            CHECK(run.fleet->on_their_way().size() == 7);
        }
    }

    TEST_CASE("WhoComesAfterTheQuorumIsLeftBehindAndNeverTrained") {
        for (const std::uint32_t workers : {0U, 2U}) {
            FlyingRun run(workers, 3, false);
            const Arrivals arrived = run.round(kEight);
            CHECK(who(arrived) == Cohort{0, 3, 5});
            CHECK(arrived.left_behind() == 5);
            CHECK(arrived.accepted() == 3);
            CHECK(run.server.now_s == 4.0);
            CHECK(run.fleet->tasks_done().first == 3);
            CHECK(run.fleet->in_flight().empty());
            CHECK(run.round(kEight).accepted() == 3);
        }
    }

    TEST_CASE("WorkerKilledWhileItsClientFliesChangesNoArrival") {
        FleetOptions options;
        options.failures.policy = OnFailure::Retry;
        FaultConfig kill;
        kill.kind = "kill";
        kill.client = 5;
        options.faults = FaultSchedule({kill}, 1);
        FlyingRun run(2, 2, true, options);
        CHECK(who(run.round(kEight)) == Cohort{0, 5});
        CHECK(run.fleet->failure_counts().workers_replaced == 1);
    }

    TEST_CASE("DroppedClientCountsTowardsTheQuorum") {
        FleetOptions options;
        options.failures.policy = OnFailure::Drop;
        FaultConfig drop;
        drop.kind = "drop";
        drop.client = 5;
        options.faults = FaultSchedule({drop}, 1);
        FlyingRun run(2, 2, true, options);
        const Arrivals arrived = run.round(kEight);
        CHECK(who(arrived) == Cohort{0});
        CHECK(arrived.clients.size() == 2);
        CHECK(who(run.round({})) == Cohort{1, 3});
    }

    TEST_CASE("ResultsOfStepsAddUpToTheClients") {
        const clients::ClientResult first{.steps = 1,
                                          .train_loss = 3.0,
                                          .update_norm = 5.0,
                                          .update_hash = 7,
                                          .seconds = 1.0,
                                          .gather_s = 0.25,
                                          .update_s = 0.125,
                                          .start_ns = 100};
        const clients::ClientResult second{.steps = 1,
                                           .train_loss = 1.0,
                                           .update_norm = 4.0,
                                           .update_hash = 8,
                                           .seconds = 2.0,
                                           .gather_s = 0.5,
                                           .update_s = 0.25,
                                           .start_ns = 900};
        const clients::ClientResult alone = with_step({}, first, 30, 0);
        CHECK(alone.train_loss == 3.0);
        CHECK(alone.start_ns == 100);
        const clients::ClientResult both = with_step(alone, second, 10, 30);
        CHECK(both.steps == 2);
        CHECK(both.train_loss == 2.5);
        CHECK(both.update_norm == 4.0);
        CHECK(both.update_hash == 15);
        CHECK(both.seconds == 3.0);
        CHECK(both.gather_s == 0.75);
        CHECK(both.update_s == 0.375);
        CHECK(both.start_ns == 100);
    }

    TEST_CASE("SlotsAndReadersAreFreeAgainAfterManyRounds") {
        FlyingRun run(2, 3, true);
        for (std::uint32_t round = 0; round < 200; ++round) {
            std::vector<bool> busy(12, false);
            for (const InFlight& client : run.fleet->in_flight()) busy[client.client_id] = true;
            Cohort cohort;
            for (std::uint32_t client = 0; client < 12 && cohort.size() + run.fleet->in_flight().size() < 8; ++client)
                if (!busy[(client + round) % 12]) cohort.push_back((client + round) % 12);
            std::sort(cohort.begin(), cohort.end());
            REQUIRE(run.round(cohort).accepted() == 3);
            REQUIRE(run.fleet->in_flight().size() == 5);
        }
        std::uint32_t readers = 0;
        for (const std::uint32_t some : run.server.readers) readers += some;
        CHECK(readers == 5);
    }
}
