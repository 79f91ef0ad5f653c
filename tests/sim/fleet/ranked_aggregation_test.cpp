// Promise 1 over ranks: aggregating updates that are stored at several ranks gives the bits of
// aggregating them all in one place.
#include "sim/fleet/ranked_aggregation.h"

#include "aggregation/base/random.h"
#include "aggregation/math/mean.h"
#include "aggregation/math/median.h"
#include "aggregation/math/mixing.h"
#include "aggregation/math/trimmed_mean.h"
#include "sim/fleet/ranked_products.h"
#include "tests/aggregation/spans.h"
#include "tests/support/thread_ranks.h"

#include <doctest/doctest.h>

#include <map>

using namespace fedhive;
using namespace fedhive::sim;
using aggregation::Aggregate;
using aggregation::Aggregator;
using aggregation::MemorySpace;
using aggregation::Update;
using aggregation::testing::Floats;
using fedhive::testing::in_ranks;

namespace {

struct DrawnCohort {
    std::vector<Floats> values;
    std::vector<Update> updates;                  // of `values`
    std::map<std::size_t, std::uint32_t> owners;  // by position
};

/// A random subset of `positions`, with weights that are not integers, and owners in runs or in random order.
DrawnCohort draw_cohort(std::size_t positions, std::uint32_t ranks, std::size_t num_floats, std::uint32_t which, bool runs) {
    DrawnCohort cohort;
    Stream stream(11, Purpose::TestData, which);
    for (std::size_t position = 0; position < positions; ++position) {
        const auto any = static_cast<std::uint32_t>(stream.below(ranks));
        if (stream.uniform() < 0.2 && position + 1 < positions) continue;
        cohort.owners[position] = runs ? static_cast<std::uint32_t>(position * ranks / positions) : any;
        cohort.values.push_back(
            aggregation::testing::random_floats(num_floats, which * 100 + static_cast<std::uint32_t>(position)));
    }
    std::size_t next = 0;
    for (const auto& [position, owner] : cohort.owners) {
        const double weight = 0.5 + stream.uniform() * 10.0;
        cohort.updates.push_back({cohort.values[next++], position, weight * 0.75, weight, 1});
    }
    return cohort;
}

Aggregate over_all(Aggregator& rule, const DrawnCohort& cohort, std::size_t num_floats) {
    rule.zero_init(num_floats, MemorySpace::Host);
    for (const Update& update : cohort.updates) rule.aggregate(update);
    return rule.finish();
}

using Make = std::unique_ptr<Aggregator> (*)();

std::unique_ptr<Aggregator> make_trimmed() { return aggregation::make_trimmed_mean(0.2); }
std::unique_ptr<Aggregator> make_around_median() { return aggregation::make_mean_around_median(2.0); }

void same_over_ranks(Make make, std::uint32_t num_ranks, std::size_t positions, std::size_t num_floats, std::uint32_t which,
                     bool runs) {
    const DrawnCohort cohort = draw_cohort(positions, num_ranks, num_floats, which, runs);
    const auto alone = make();
    const Aggregate wanted = over_all(*alone, cohort, num_floats);
    in_ranks(num_ranks, [&](Ranks& ranks) {
        const Floats poison(num_floats, std::numeric_limits<float>::quiet_NaN());
        const auto rule = make();
        const auto local = [](Aggregator& sum, std::uint64_t) -> Aggregator& { return sum; };
        RankedAggregator ranked(
            ranks, *rule, [&](const Update& update) { return cohort.owners.at(update.position); }, local,
            [] { return Patience{}; });
        for (int round = 0; round < 2; ++round) {
            ranked.zero_init(num_floats, MemorySpace::Host);
            for (Update update : cohort.updates) {
                if (cohort.owners.at(update.position) != ranks.rank()) update.values = poison;  // a slot of another rank
                ranked.aggregate(update);
            }
            const Aggregate found = ranked.finish();
            CHECK(aggregation::testing::same_bits(aggregation::testing::download(found.values),
                                                  aggregation::testing::download(wanted.values)));
            CHECK(found.weight == wanted.weight);
            CHECK(found.clients == wanted.clients);
        }
    });
}

}  // namespace

TEST_SUITE("RankedAggregation") {
    TEST_CASE("EveryKindOfRuleIsThatOfOneProcess") {
        std::uint32_t which = 0;
        for (const Make make : {&aggregation::make_mean, &aggregation::make_median, &make_trimmed, &make_around_median})
            for (const std::uint32_t ranks : {2U, 3U, 5U})
                for (const std::size_t positions : {1U, 2U, 9U, 32U})
                    for (const bool runs : {true, false}) {
                        ++which;
                        same_over_ranks(make, ranks, positions, 100 + 37 * which, which, runs);
                    }
    }

    TEST_CASE("FewerParametersThanRanksLeaveSomeRangesEmpty") { same_over_ranks(&aggregation::make_mean, 4, 6, 3, 1, true); }

    TEST_CASE("ARunThatIsOneSubtreeIsSentOnce") {
        constexpr std::size_t kFloats = 1024;
        in_ranks(2, [](Ranks& ranks) {
            const Floats values = aggregation::testing::random_floats(kFloats, 1);
            const auto rule = aggregation::make_mean();
            const auto local = [](Aggregator& sum, std::uint64_t) -> Aggregator& { return sum; };
            RankedAggregator ranked(
                ranks, *rule, [](const Update& update) { return update.position < 8 ? 0U : 1U; }, local,
                [] { return Patience{}; });
            ranked.zero_init(kFloats, MemorySpace::Host);
            for (std::size_t position = 0; position < 16; ++position) ranked.aggregate({values, position, 1.0, 1.0, 1});
            ranked.finish();
            // Half of the single sum, and half of the aggregate.
            CHECK(ranks.bytes_exchanged() == 2 * sizeof(float) * kFloats / 2);
        });
    }

    TEST_CASE("OfARuleOnWholeUpdatesEachIsSentToAllOthers") {
        constexpr std::size_t kFloats = 1000;
        in_ranks(3, [](Ranks& ranks) {
            const Floats values = aggregation::testing::random_floats(kFloats, 1);
            const auto rule = aggregation::make_single_update();
            const auto local = [](Aggregator& sum, std::uint64_t) -> Aggregator& { return sum; };
            RankedAggregator ranked(
                ranks, *rule, [](const Update&) { return 1U; }, local, [] { return Patience{}; });
            ranked.zero_init(kFloats, MemorySpace::Host);
            ranked.aggregate({values, 0, 1.0, 1.0, 1});
            ranked.finish();
            CHECK(ranks.bytes_exchanged() == (ranks.rank() == 1 ? sizeof(float) * kFloats * 2 : 0));
        });
    }

    TEST_CASE("InnerProductsWithHistoriesAreThoseOfOneProcess") {
        constexpr std::size_t kColumns = aggregation::kGramColumns + 77;
        const DrawnCohort cohort = draw_cohort(9, 2, kColumns + 16, 7, false);
        std::vector<Floats> sums;
        std::vector<aggregation::ConstParamSpan> rows, kept;
        for (std::uint32_t k = 0; k < cohort.updates.size(); ++k)
            sums.push_back(aggregation::testing::random_floats(kColumns, k));
        for (std::size_t k = 0; k < cohort.updates.size(); ++k) {
            rows.push_back(cohort.updates[k].values.part(0, kColumns));
            kept.push_back(k == 4 ? aggregation::ConstParamSpan() : aggregation::ConstParamSpan(sums[k]));
        }
        const aggregation::InnerProducts wanted = aggregation::inner_products_of(rows, 2, kept);
        in_ranks(2, [&](Ranks& ranks) {
            const auto owner = [&](const Update& update) { return cohort.owners.at(update.position); };
            ProductRows histories{.clients = std::vector<std::uint32_t>(rows.size()), .sums = kept, .columns = kColumns};
            for (std::size_t k = 0; k < kept.size(); ++k)
                if (owner(cohort.updates[k]) != ranks.rank()) histories.sums[k] = {};
            const aggregation::InnerProducts found =
                products_over_ranks(ranks, cohort.updates, 2, owner, Patience{}, histories);
            for (std::size_t i = 0; i < rows.size(); ++i)
                for (std::size_t j = 0; j < rows.size(); ++j) CHECK(found.dot(i, j) == wanted.dot(i, j));
        });
    }

    TEST_CASE("InnerProductsAreThoseOfOneProcess") {
        for (const std::uint32_t num_ranks : {2U, 3U})
            for (const std::size_t num_floats : {std::size_t{300}, 2 * aggregation::kGramColumns + 77}) {
                const DrawnCohort cohort = draw_cohort(9, num_ranks, num_floats, 7, false);
                std::vector<aggregation::ConstParamSpan> rows;
                for (const Update& update : cohort.updates) rows.push_back(update.values);
                const aggregation::InnerProducts wanted = aggregation::inner_products_of(rows, 2);
                in_ranks(num_ranks, [&](Ranks& ranks) {
                    const Floats poison(num_floats, std::numeric_limits<float>::quiet_NaN());
                    const auto owner = [&](const Update& update) { return cohort.owners.at(update.position); };
                    std::vector<Update> updates = cohort.updates;
                    for (Update& update : updates)
                        if (owner(update) != ranks.rank()) update.values = poison;  // a slot of another rank
                    const aggregation::InnerProducts found =
                        products_over_ranks(ranks, updates, 2, owner, Patience{}, {.columns = updates.front().values.size});
                    for (std::size_t i = 0; i < rows.size(); ++i)
                        for (std::size_t j = 0; j < rows.size(); ++j) {
                            CHECK(found.dot(i, j) == wanted.dot(i, j));
                            CHECK(found.squared_distance(i, j) == wanted.squared_distance(i, j));
                        }
                });
            }
    }
}
