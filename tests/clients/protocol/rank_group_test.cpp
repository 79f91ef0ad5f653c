// Missing, leaving or killed ranks: the others leave in time, and all name the same rank.
#include "clients/protocol/rank_group.h"

#include "aggregation/base/error.h"
#include "tests/support/ranks.h"

#include <doctest/doctest.h>

#include <csignal>
#include <memory>

using namespace fedhive;
using namespace fedhive::clients;
using namespace std::chrono_literals;
using testing::Ranks;

namespace {

constexpr std::size_t kCount = 40'000;
constexpr double kDeadlineS = 0.5;

struct Operation {
    const char* name;
    void (*call)(Communicator& own);
    std::size_t awaited = 3;  // directly or indirectly, by rank 2 of 4
};

constexpr Operation kOperations[] = {
    {"barrier", [](Communicator& own) { own.barrier(); }},
    {"broadcast", [](Communicator& own) { own.broadcast(kCount, 0); }, 0},
    {"scatter", [](Communicator& own) { own.scatter(kCount / 4, 0); }, 0},
    {"gather", [](Communicator& own) { own.gather(kCount / 4, 0); }},
    {"all_gather", [](Communicator& own) { own.all_gather(kCount / 4); }},
    {"reduce", [](Communicator& own) { own.reduce(kCount, 0); }},
    {"reduce_scatter", [](Communicator& own) { own.reduce_scatter(kCount); }},
    {"gather_object", [](Communicator& own) { own.gather_object({}, 0); }},
    {"all_reduce (star", [](Communicator& own) { own.all_reduce(kCount, AllReduce::Star); }},
    {"all_reduce (ring", [](Communicator& own) { own.all_reduce(kCount, AllReduce::Ring); }},
    {"all_reduce (tree", [](Communicator& own) { own.all_reduce(kCount, AllReduce::Tree); }},
};

/// Runs a group of four processes per operation, all groups concurrently. body: the work of a rank.
template <typename Body>
std::vector<std::unique_ptr<Ranks>> run_for_each_operation(double deadline_s, Body body, const Ranks::Stopping& stopping = {}) {
    std::vector<std::unique_ptr<Ranks>> groups;
    for (const Operation& operation : kOperations) {
        groups.push_back(std::make_unique<Ranks>(4, kCount, deadline_s));
        groups.back()->start(
            Ranks::As::Processes, [&](Communicator& own) { body(own, operation); }, stopping);
    }
    for (const auto& group : groups) group->join();
    return groups;
}

/// All ranks but `missing` have left naming it, after `earliest_s` and soon after that; at least one of them in this operation.
void check_named(const Ranks& ranks, std::size_t missing, double earliest_s, const std::string& operation) {
    bool in_operation = false;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        if (r == missing) continue;
        const Ranks::Outcome& outcome = ranks.outcome(r);
        CAPTURE(r);
        CAPTURE(outcome.message.get());
        CHECK(outcome.end == Ranks::End::Missing);
        CHECK(outcome.missing == missing);
        CHECK(outcome.seconds >= earliest_s);
        CHECK(outcome.seconds < earliest_s + 30.0);
        in_operation = in_operation || outcome.message.get().find(operation) != std::string::npos;
    }
    CHECK(in_operation);
}

}  // namespace

TEST_SUITE("RankGroup") {
    TEST_CASE("RankKilledBeforeAnOperationIsNamedByAllOthers") {
        const auto groups = run_for_each_operation(kDeadlineS, [](Communicator& own, const Operation& operation) {
            own.barrier();
            if (own.rank() == 2) raise(SIGKILL);
            operation.call(own);
            own.barrier();
        });
        for (std::size_t i = 0; i < groups.size(); ++i) {
            CAPTURE(kOperations[i].name);
            CHECK(groups[i]->outcome(2).end == Ranks::End::Nothing);
            check_named(*groups[i], 2, kDeadlineS, fmt::format("rank 2 of 4 has not reached {}", kOperations[i].name));
        }
    }

    TEST_CASE("RankKilledWhileItWaitsIsNamedNotTheOneItWaitedFor") {
        const auto kill_in_its_sleep = [](std::size_t rank) -> std::function<bool()> {
            if (rank != 2) return {};
            return [] { return raise(SIGKILL) != 0; };
        };
        const auto with_one_late = [](Communicator& own, const Operation& operation) {
            if (own.rank() == operation.awaited) std::this_thread::sleep_for(200ms);
            operation.call(own);
            own.barrier();
        };
        const auto groups = run_for_each_operation(kDeadlineS, with_one_late, kill_in_its_sleep);
        for (std::size_t i = 0; i < groups.size(); ++i) {
            CAPTURE(kOperations[i].name);
            CHECK(groups[i]->outcome(2).end == Ranks::End::Nothing);
            check_named(*groups[i], 2, kDeadlineS, "rank 2 of 4 has not reached");
        }
    }

    TEST_CASE("RankThatThrowsIsNamedAtOnce") {
        const auto groups = run_for_each_operation(60.0, [](Communicator& own, const Operation& operation) {
            if (own.rank() == 1) {
                std::this_thread::sleep_for(50ms);
                throw std::runtime_error("no more");
            }
            operation.call(own);
            own.barrier();
        });
        for (std::size_t i = 0; i < groups.size(); ++i) {
            CAPTURE(kOperations[i].name);
            CHECK(groups[i]->outcome(1).message.get() == "no more");
            check_named(*groups[i], 1, 0.05, "rank 1 of 4 has left the group");
        }
    }

    TEST_CASE("BellWakesASleeperLongBeforeItLooksByItself") {
        const std::size_t size = std::thread::hardware_concurrency() + 1;  // more ranks than cores, so that they sleep at once
        double least_s = 60.0;
        for (int again = 0; again < 6 && least_s >= 2.0; ++again) {  // a busy machine is sometimes slow
            Ranks ranks(size, 0);
            ranks.run(Ranks::As::Processes, [](Communicator& own) {
                for (int round = 0; round < 100; ++round) own.barrier();
            });
            CHECK(ranks.outcome(0).end == Ranks::End::Returned);
            least_s = std::min(least_s, ranks.outcome(0).seconds);
        }
        CHECK(least_s < 2.0);  // polling every 50 ms would take 5 s or more
    }

    TEST_CASE("SlowRankIsGivenUpAndToldWhenItComes") {
        Ranks ranks(4, kCount, kDeadlineS);
        ranks.run(Ranks::As::Threads, [&](Communicator& own) {
            if (own.rank() == 3) std::this_thread::sleep_for(1s);
            own.all_reduce(kCount, AllReduce::Tree);
        });
        check_named(ranks, 3, kDeadlineS, "rank 3 of 4 has not reached all_reduce (tree, step 2) within 0.5 s");
        CHECK(ranks.outcome(3).end == Ranks::End::Missing);
        CHECK(ranks.outcome(3).missing == 3);
        CHECK(ranks.outcome(3).message.get() ==
              "rank 3 of 4 reached all_reduce (tree, step 1) after the others had given it up");
    }

    TEST_CASE("SlowRankWithinTheDeadlineIsWaitedFor") {
        Ranks ranks(3, kCount, 30.0);
        ranks.run(Ranks::As::Threads, [&](Communicator& own) {
            if (own.rank() == 1) std::this_thread::sleep_for(300ms);
            own.all_reduce(kCount, AllReduce::Ring);
        });
        for (std::size_t r = 0; r < 3; ++r) CHECK(ranks.outcome(r).end == Ranks::End::Returned);
    }

    TEST_CASE("RankAskedToStopLeavesAndTheOthersAtOnce") {
        Ranks ranks(3, kCount);
        const auto stop_rank_0 = [](std::size_t rank) -> std::function<bool()> {
            const std::int64_t start = now_ns();
            return [=] { return rank == 0 && seconds_between(start, now_ns()) > 0.1; };
        };
        ranks.run(
            Ranks::As::Threads,
            [&](Communicator& own) {
                if (own.rank() == 2) std::this_thread::sleep_for(400ms);
                own.all_reduce(kCount, AllReduce::Star);
            },
            stop_rank_0);
        CHECK(ranks.outcome(0).end == Ranks::End::Left);
        CHECK(ranks.outcome(0).message.get() == "rank 0 of 3 was asked to stop in all_reduce (star, step 1)");
        CHECK(ranks.outcome(1).missing == 0);
        CHECK(ranks.outcome(1).seconds < 30.0);
        CHECK(ranks.outcome(2).message.get() == "rank 0 of 3 has left the group; noticed in all_reduce (star, step 1)");
    }

    TEST_CASE("GroupThatWasGivenUpServesAgainAfterAReset") {
        Ranks ranks(3, kCount);
        ranks.run(Ranks::As::Threads, [](Communicator& own) {
            if (own.rank() == 1) throw std::runtime_error("no more");
            own.barrier();
        });
        CHECK(ranks.outcome(0).end == Ranks::End::Missing);
        for (RankCell& cell : ranks.group()) cell.reset();
        ranks.run(Ranks::As::Threads, [](Communicator& own) { own.all_reduce(kCount, AllReduce::Ring); });
        for (std::size_t r = 0; r < 3; ++r) CHECK(ranks.outcome(r).end == Ranks::End::Returned);
    }

    TEST_CASE("RankOutsideTheGroupAndWaitWithoutADeadlineAreFaults") {
        std::vector<RankCell> cells(2);
        CHECK_THROWS_WITH_AS(RankGroup(cells, 2, 1.0, {}), doctest::Contains("rank 2 of 2"), Fault);
        CHECK_THROWS_WITH_AS(RankGroup(cells, 0, 0.0, {}), doctest::Contains("deadline 0 s"), Fault);
    }
}
