// Aggregates whose ranges are computed by real worker processes: the bits of a single pass, whichever worker computes a range,
// and after failures.
#include "sim/fleet/shared_aggregation.h"

#include "aggregation/math/mean.h"
#include "aggregation/math/median.h"
#include "aggregation/math/mixing.h"
#include "aggregation/math/trimmed_mean.h"
#include "sim/fleet/fleet.h"
#include "tests/aggregation/reference.h"
#include "tests/aggregation/spans.h"
#include "tests/fleet/toy_fleet.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <numeric>
#include <thread>

using namespace fedhive;
using namespace fedhive::sim;
using aggregation::MemorySpace;
using aggregation::testing::Floats;

namespace {

#ifdef FEDHIVE_SANITIZED
constexpr std::size_t kWholeRanges = 7;  // fewer, since they take a sanitizer longer than 31 take without one
#else
constexpr std::size_t kWholeRanges = 31;
#endif
constexpr std::size_t kFloats = kWholeRanges * kRangeFloats + 77;  // the last range is short
constexpr std::size_t kClients = 12;

/// Twelve clients; after training, their slots are filled with numbers.
struct SummingRun : testing::ToyFleet {
    explicit SummingRun(std::uint32_t workers, std::uint64_t num_aggregates = 1, FleetOptions options = {})
        : ToyFleet({.num_floats = kFloats,
                    .num_slots = kClients,
                    .num_aggregates = num_aggregates,
                    .num_products = num_aggregates * (kWholeRanges + 1) * aggregation::gram_values(kClients)}) {
        options.workers = workers;
        options.mode.in_flight = options.mode.quorum = kClients;
        start(options, 10);
    }

    /// The first `cohort` clients' arrivals, with different weights and values.
    Arrivals arrive(std::size_t cohort) {
        Cohort ids(cohort);
        std::iota(ids.begin(), ids.end(), 0U);
        fleet->pull_down(ids, server, strategy);
        fleet->train();
        Arrivals arrived = fleet->barrier(server);
        static const std::vector<Floats> drawn = [] {
            std::vector<Floats> all;
            // A repeated pattern, at a different offset in each range.
            constexpr std::size_t kDrawn = kRangeFloats + 101;
            for (std::uint32_t k = 0; k < kClients; ++k) {
                const Floats some = aggregation::testing::random_floats(kDrawn, k);
                Floats& values = all.emplace_back(kFloats);
                for (std::size_t i = 0; i < kFloats; ++i) values[i] = some[i % kDrawn];
            }
            return all;
        }();
        for (std::size_t k = 0; k < cohort; ++k) {
            aggregation::copy(arena.slot(k), drawn[k]);
            arrived.updates[k].scale = arrived.updates[k].weight = 1.0 + static_cast<double>(k) / 7.0;
        }
        return arrived;
    }
};

aggregation::Aggregate aggregate(aggregation::Aggregator& rule, const Arrivals& arrived) {
    rule.zero_init(kFloats, MemorySpace::Host);
    for (const aggregation::Update& update : arrived.updates) rule.aggregate(update);
    return rule.finish();
}

/// The last 50 elements, in the short range.
Floats reference_of(aggregation::ColumnRule rule, const Arrivals& arrived) {
    std::vector<Floats> ends;
    std::map<std::size_t, Floats> updates;
    std::map<std::size_t, double> weights;
    for (const aggregation::Update& update : arrived.updates) {
        ends.push_back(aggregation::testing::download(update.values.part(kFloats - 50, 50)));
        updates[update.position] = ends.back();
        weights[update.position] = update.weight;
    }
    return rule == aggregation::ColumnRule::Mean ? aggregation::reference::mean(updates, weights, 16)
                                                 : aggregation::reference::median(ends);
}

std::vector<pid_t> children() {
    std::ifstream list(fmt::format("/proc/self/task/{}/children", getpid()));
    return {std::istream_iterator<pid_t>(list), {}};
}

/// Once every worker has a task, stops them all, kills the first and continues the others.
void kill_one_at_work(const Fleet& fleet, const std::atomic<bool>& over) {
    const std::vector<pid_t> workers = children();
    while (!over) {
        if (fleet.workers_busy().first < workers.size()) continue;
        for (const pid_t worker : workers) kill(worker, SIGSTOP);
        const bool all_at_work = fleet.workers_busy().first == workers.size();
        if (all_at_work) kill(workers.front(), SIGKILL);
        for (const pid_t worker : workers) kill(worker, SIGCONT);
        if (all_at_work) return;
    }
}

}  // namespace

TEST_SUITE("SharedAggregation") {
    TEST_CASE("AnyNumberOfWorkersGivesTheBitsOfOnePass") {
        const auto trimmed = +[] { return aggregation::make_trimmed_mean(0.2); };
        for (const auto make : {aggregation::make_mean, aggregation::make_median, trimmed}) {
            for (const std::uint32_t workers : {0U, 1U, 2U, 4U}) {
                CAPTURE(workers);
                SummingRun run(workers);
                const Arrivals arrived = run.arrive(kClients);
                const auto alone = make();
                const aggregation::Aggregate expected = aggregate(*alone, arrived);
                const Floats values = aggregation::testing::download(expected.values);
                const auto rule = make();
                aggregation::Aggregator& sum = run.fleet->with_workers(*rule, arrived.updates.size());
                CHECK((&sum == rule.get()) == (workers < 2));
                CHECK(sum.column_rule() == rule->column_rule());
                const aggregation::Aggregate result = aggregate(sum, arrived);
                CHECK((result.values.data == run.arena.aggregate().data) == (workers > 1));
                CHECK(aggregation::testing::same_bits(aggregation::testing::download(result.values), values));
                CHECK(result.weight == expected.weight);
                CHECK(result.clients == kClients);
                if (make != trimmed)
                    CHECK(Floats(values.end() - 50, values.end()) == reference_of(rule->column_rule(), arrived));
            }
        }
    }

    TEST_CASE("InnerProductsOfAnyNumberOfWorkersHaveTheBitsOfOnePass") {
        for (const std::uint32_t workers : {0U, 1U, 2U, 4U}) {
            CAPTURE(workers);
            SummingRun run(workers);
            const Arrivals arrived = run.arrive(kClients);
            std::vector<aggregation::ConstParamSpan> rows;
            for (const aggregation::Update& update : arrived.updates) rows.push_back(update.values);
            const aggregation::InnerProducts wanted = aggregation::inner_products_of(rows, 3);
            if (workers > 1) std::ranges::fill(run.arena.products(), 1e30);
            const aggregation::InnerProducts found =
                run.fleet->inner_products(arrived.updates, 3, {.columns = arrived.updates.front().values.size});
            if (workers > 1) CHECK(run.arena.products()[9] == 0.0);  // ⟨r − r, r − r⟩: the workers have written
            for (std::size_t i = 0; i < kClients; ++i)
                for (std::size_t j = 0; j <= i; ++j) {
                    CHECK(found.dot(i, j) == wanted.dot(i, j));
                    CHECK(found.squared_distance(i, j) == wanted.squared_distance(i, j));
                }
        }
    }

    TEST_CASE("RoundsGoOnAfterASharedSumAndFewerUpdatesChangeNothing") {
        SummingRun run(2);
        for (const std::size_t cohort : {kClients, kClients - 1, kClients}) {
            const Arrivals arrived = run.arrive(cohort);
            const auto alone = aggregation::make_mean();
            const Floats expected = aggregation::testing::download(aggregate(*alone, arrived).values);
            aggregation::Aggregator& sum = run.fleet->with_workers(*run.strategy.aggregator, arrived.updates.size());
            CHECK(aggregation::testing::same_bits(aggregation::testing::download(aggregate(sum, arrived).values), expected));
            CHECK(run.fleet->evaluate(run.server).size() == 1);
            run.fleet->release(arrived, run.server);
        }
    }

    TEST_CASE("SmallSumsAndRulesWithoutRangesAreTheCoordinatorsOwn") {
        SummingRun run(2);
        const Arrivals few = run.arrive(1);
        CHECK(run.arena.geometry().stride_bytes() < kSharedBytes);
        CHECK(&run.fleet->with_workers(*run.strategy.aggregator, few.updates.size()) == run.strategy.aggregator.get());
        run.fleet->release(few, run.server);
        const Arrivals all = run.arrive(kClients);
        CHECK(&run.fleet->with_workers(*run.strategy.aggregator, all.updates.size()) != run.strategy.aggregator.get());
        const auto newest = aggregation::make_single_update();
        CHECK(&run.fleet->with_workers(*newest, all.updates.size()) == newest.get());
        SummingRun without(2, 0);
        const Arrivals arrived = without.arrive(kClients);
        CHECK(&without.fleet->with_workers(*without.strategy.aggregator, arrived.updates.size()) ==
              without.strategy.aggregator.get());
    }

    TEST_CASE("RangeOfAKilledWorkerIsDoneAgain") {
        FleetOptions options;
        options.failures.policy = OnFailure::Retry;
        SummingRun run(2, 1, options);
        std::vector<clients::ClientFailure> told;
        run.fleet->on_failure([&](const clients::ClientFailure& failure, FailureAction) { told.push_back(failure); });
        const Arrivals arrived = run.arrive(kClients);
        const auto alone = aggregation::make_mean();
        const Floats expected = aggregation::testing::download(aggregate(*alone, arrived).values);
        for (int attempt = 0; attempt < 200 && told.empty(); ++attempt) {
            aggregation::set_zero(run.arena.aggregate());
            aggregation::Aggregator& sum = run.fleet->with_workers(*run.strategy.aggregator, arrived.updates.size());
            std::atomic<bool> over{false};
            std::thread killer([&] { kill_one_at_work(*run.fleet, over); });
            const aggregation::Aggregate result = aggregate(sum, arrived);
            over = true;
            killer.join();
            CHECK(aggregation::testing::same_bits(aggregation::testing::download(result.values), expected));
        }
        REQUIRE(told.size() == 1);
        CHECK(told[0].kind == clients::FailureKind::Signalled);
        CHECK(told[0].client_id == -1);
        CHECK(told[0].round == 1);
        CHECK(run.fleet->failure_counts().workers_replaced == 1);
    }

    TEST_CASE("NothingToAggregateAndAnotherShapeAreFaults") {
        SummingRun run(2);
        const Arrivals arrived = run.arrive(kClients);
        aggregation::Aggregator& sum = run.fleet->with_workers(*run.strategy.aggregator, arrived.updates.size());
        CHECK_THROWS_AS(sum.zero_init(kFloats - 1, MemorySpace::Host), Fault);
        sum.zero_init(kFloats, MemorySpace::Host);
        CHECK_THROWS_WITH_AS(sum.finish(), doctest::Contains("nothing to aggregate"), Fault);
        aggregation::Update elsewhere = arrived.updates[0];
        elsewhere.values = run.arena.global(0);
        sum.aggregate(elsewhere);
        CHECK_THROWS_AS(sum.finish(), Fault);
    }
}
