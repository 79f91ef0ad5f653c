#include "aggregation/math/mean.h"

#include "aggregation/math/column_ops.h"
#include "tests/aggregation/reference.h"
#include "tests/conformance/aggregator_conformance.h"
#include "tests/support/skip.h"

#include <bit>

using namespace fedhive;
using namespace fedhive::aggregation;
using testing::Floats;

namespace {

struct Cohort {
    std::vector<std::size_t> positions;
    std::vector<Floats> updates;
    std::vector<double> weights;
};

/// Clients at some positions below `size`, with weights that are not integers.
Cohort random_cohort(std::size_t size, std::size_t num_floats, std::uint32_t which, double share) {
    Cohort cohort;
    Stream stream(7, Purpose::TestData, which, 1);
    for (std::size_t position = 0; position < size; ++position) {
        if (stream.uniform() > share) continue;
        cohort.positions.push_back(position);
        cohort.updates.push_back(testing::random_floats(num_floats, which * 1000 + static_cast<std::uint32_t>(position)));
        cohort.weights.push_back(stream.uniform() * 100.0 + 0.1);
    }
    return cohort;
}

Floats mean_of(const Cohort& cohort, MemorySpace space) {
    std::vector<ParamBuffer> slots;
    const auto rule = make_mean();
    rule->zero_init(cohort.updates.front().size(), space);
    for (const Floats& update : cohort.updates) slots.push_back(testing::upload(update, space));
    for (std::size_t k = 0; k < slots.size(); ++k)
        rule->aggregate({slots[k], cohort.positions[k], cohort.weights[k], cohort.weights[k], 1});
    return testing::download(rule->finish().values);
}

/// The same mean, with each run of clients_per_slot clients summed in one slot.
Floats mean_over_slots(const Cohort& cohort, std::size_t clients_per_slot, MemorySpace space) {
    const std::size_t num_floats = cohort.updates.front().size();
    const auto rule = make_mean();
    rule->zero_init(num_floats, space);
    SlotSum sum(num_floats, space);
    std::vector<ParamBuffer> slots;
    for (std::size_t first = 0; first < cohort.updates.size(); first += clients_per_slot) {
        const std::size_t count = std::min(clients_per_slot, cohort.updates.size() - first);
        sum.zero_init();
        for (std::size_t k = first; k < first + count; ++k)
            sum.add(testing::upload(cohort.updates[k], space), cohort.weights[k]);
        slots.push_back(testing::poisoned(num_floats, space));
        sum.finish(slots.back());
        const double weight =
            sum_weights(std::span(cohort.positions).subspan(first, count), std::span(cohort.weights).subspan(first, count));
        rule->aggregate({slots.back(), first / clients_per_slot, 1.0, weight, count});
    }
    const Aggregate mean = rule->finish();
    CHECK(mean.clients == cohort.updates.size());
    return testing::download(mean.values);
}

/// The same mean, from sums that each owner has made of its clients.
Floats mean_over_owners(const Cohort& cohort, const std::vector<std::uint32_t>& owners, MemorySpace space) {
    const std::size_t num_floats = cohort.updates.front().size();
    const auto rule = make_mean();
    rule->zero_init(num_floats, space);
    std::vector<std::unique_ptr<Aggregator>> sums;
    std::size_t first = 0;
    for (const std::size_t count : partial_sums(cohort.positions, owners)) {
        std::vector<ParamBuffer> slots;
        Aggregator& sum = *sums.emplace_back(make_sum());
        sum.zero_init(num_floats, space);
        for (std::size_t k = first; k < first + count; ++k) {
            CHECK(owners[k] == owners[first]);
            slots.push_back(testing::upload(cohort.updates[k], space));
            sum.aggregate({slots.back(), cohort.positions[k], cohort.weights[k], cohort.weights[k], 1});
        }
        const Aggregate part = sum.finish();
        rule->aggregate({part.values, cohort.positions[first], 1.0, part.weight, part.clients});
        first += count;
    }
    CHECK(first == cohort.positions.size());
    const Aggregate mean = rule->finish();
    CHECK(mean.clients == cohort.updates.size());
    CHECK(mean.weight == sum_weights(cohort.positions, cohort.weights));
    return testing::download(mean.values);
}

/// Absent members leave gaps, in a slot as in the cohort.
void slot_sizes_agree_with_gaps(MemorySpace space) {
    constexpr std::size_t kMembers = 16;
    for (std::uint32_t absent = 1; absent < (1U << kMembers) - 1; absent += 2477) {
        Cohort present;
        const Cohort all = random_cohort(kMembers, 40, absent, 1.0);
        SlotSum sum(40, space);
        sum.zero_init();
        for (std::size_t k = 0; k < kMembers; ++k) {
            if ((absent >> k & 1U) != 0) {
                sum.skip();
                continue;
            }
            sum.add(testing::upload(all.updates[k], space), all.weights[k]);
            present.updates.push_back(all.updates[k]);
            present.weights.push_back(all.weights[k]);
            present.positions.push_back(k);
        }
        const ParamBuffer slot = testing::poisoned(40, space);
        sum.finish(slot);
        const auto rule = make_mean();
        rule->zero_init(40, space);
        rule->aggregate({slot, 0, 1.0, sum_weights(present.positions, present.weights), present.updates.size()});
        CHECK(testing::same_bits(testing::download(rule->finish().values), mean_of(present, space)));
    }
}

void slot_sizes_agree(MemorySpace space) {
    for (const std::size_t size : {1U, 2U, 5U, 7U, 13U, 29U}) {
        const Cohort cohort = random_cohort(size, 300, static_cast<std::uint32_t>(size), 1.0);
        const Floats single = mean_of(cohort, space);
        for (const std::size_t clients_per_slot : {1U, 2U, 4U, 8U})
            CHECK(testing::same_bits(mean_over_slots(cohort, clients_per_slot, space), single));
    }
}

void equals_the_recursive_tree(MemorySpace space) {
    for (std::uint32_t which = 0; which < 40; ++which) {
        const std::size_t num_floats = which == 3 ? 100003 : which == 30 ? 8193 : 200 + 7 * which;
        const Cohort cohort = random_cohort(1 + which, num_floats, which, which % 3 == 0 ? 1.0 : 0.6);
        if (cohort.positions.empty()) continue;
        std::map<std::size_t, Floats> updates;
        std::map<std::size_t, double> weights;
        for (std::size_t k = 0; k < cohort.positions.size(); ++k) {
            updates[cohort.positions[k]] = cohort.updates[k];
            weights[cohort.positions[k]] = cohort.weights[k];
        }
        CHECK(testing::same_bits(mean_of(cohort, space), reference::mean(updates, weights, 64)));
        CHECK(sum_weights(cohort.positions, cohort.weights) == *reference::tree(weights, 0, 64));
    }
}

}  // namespace

TEST_SUITE("Mean") {
    TEST_CASE("SumsOfOwnersGiveTheBitsOfOnePassWhoeverOwnsWhat") {
        for (std::uint32_t which = 0; which < 60; ++which) {
            const Cohort cohort = random_cohort(1 + which, 50, which, which % 2 == 0 ? 1.0 : 0.5);
            if (cohort.positions.empty()) continue;
            Stream stream(8, Purpose::TestData, which);
            std::vector<std::uint32_t> anyhow;
            std::vector<std::uint32_t> in_runs;
            for (const std::size_t position : cohort.positions) {
                anyhow.push_back(static_cast<std::uint32_t>(stream.below(3)));
                in_runs.push_back(static_cast<std::uint32_t>(position * 3 / (1 + which)));
            }
            for (const auto& owners : {anyhow, in_runs, std::vector<std::uint32_t>(cohort.positions.size(), 1)})
                CHECK(testing::same_bits(mean_over_owners(cohort, owners, MemorySpace::Host),
                                         mean_of(cohort, MemorySpace::Host)));
        }
    }

    TEST_CASE("PartialSumsAreTheLargestSubtreesOfOneOwner") {
        const std::vector<std::size_t> eight{0, 1, 2, 3, 4, 5, 6, 7};
        using Counts = std::vector<std::size_t>;
        CHECK(partial_sums(eight, std::vector<std::uint32_t>(8, 0)) == Counts{8});
        CHECK(partial_sums(eight, std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 1, 1}) == Counts{4, 4});
        CHECK(partial_sums(eight, std::vector<std::uint32_t>{0, 0, 0, 1, 1, 1, 1, 1}) == Counts{2, 1, 1, 4});
        CHECK(partial_sums(std::vector<std::size_t>{1, 2, 6}, std::vector<std::uint32_t>{0, 0, 1}) == Counts{2, 1});
        CHECK(partial_sums(std::vector<std::size_t>{3, 4}, std::vector<std::uint32_t>{0, 0}) == Counts{2});
        CHECK(partial_sums({}, {}).empty());
    }

    TEST_CASE("MeanOnTheHostConforms") { conformance::aggregator_conforms(make_mean, MemorySpace::Host); }
    TEST_CASE("MeanEqualsTheRecursiveTreeOverAnySubset") { equals_the_recursive_tree(MemorySpace::Host); }
    TEST_CASE("MeanOverSlotsOfManyClientsHasTheSameBits") { slot_sizes_agree(MemorySpace::Host); }
    TEST_CASE("MeanOverSlotsWithGapsHasTheSameBits") { slot_sizes_agree_with_gaps(MemorySpace::Host); }

    TEST_CASE("Gpu: MeanConforms") {
        if (const std::string reason = testing::no_gpu_reason(); !reason.empty()) FEDHIVE_SKIP(reason);
        conformance::aggregator_conforms(make_mean, MemorySpace::Cuda);
        equals_the_recursive_tree(MemorySpace::Cuda);
        slot_sizes_agree(MemorySpace::Cuda);
        slot_sizes_agree_with_gaps(MemorySpace::Cuda);
    }

    TEST_CASE("MeanOfSmallIntegersIsExact") {
        const Floats first{1.0F, 2.0F, -4.0F};
        const Floats second{5.0F, -2.0F, 4.0F};
        const auto rule = make_mean();
        rule->zero_init(3, MemorySpace::Host);
        rule->aggregate({ConstParamSpan(first), 0, 1.0, 1.0, 1});
        rule->aggregate({ConstParamSpan(second), 1, 3.0, 3.0, 1});
        const Aggregate mean = rule->finish();
        CHECK(testing::download(mean.values) == Floats{4.0F, -1.0F, 2.0F});
        CHECK(mean.weight == 4.0);
        CHECK(mean.clients == 2);
    }

    TEST_CASE("MeanSumOfWeightsThatCannotDivideIsAFault") {
        const Floats update(16, 1.0F);
        for (const double weight :
             {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
            const auto rule = make_mean();
            rule->zero_init(16, MemorySpace::Host);
            rule->aggregate({ConstParamSpan(update), 0, weight, weight, 1});
            CHECK_THROWS_AS(rule->finish(), Fault);
        }
    }
}

TEST_SUITE("Tree") {
    TEST_CASE("TreeFoldsOfFullCohortsCountTrailingOnes") {
        const std::vector<std::size_t> positions{0, 1, 2, 3, 4, 5, 6, 7, 8};
        CHECK(tree_folds(positions) == std::vector<std::uint8_t>{0, 0, 1, 0, 2, 0, 1, 0, 3});
    }

    TEST_CASE("TreeFoldsRefusePositionsThatDoNotIncrease") {
        CHECK_THROWS_AS(tree_folds(std::vector<std::size_t>{1, 1}), Fault);
        CHECK_THROWS_AS(tree_folds(std::vector<std::size_t>{2, 1}), Fault);
        CHECK_THROWS_AS(tree_folds(std::vector<std::size_t>{std::size_t{1} << 32}), Fault);
        CHECK_THROWS_AS(sum_weights(std::vector<std::size_t>{1}, std::vector<double>{}), ShapeError);
    }

    TEST_CASE("TreeDeepestStackFits") {
        // Between neighbours the common subtree shrinks by one level each, so nothing can be folded before the end.
        Cohort cohort;
        std::size_t position = 0;
        for (std::size_t bit = 32; bit-- > 0;) {
            cohort.positions.push_back(position);
            position += std::size_t{1} << bit;
        }
        cohort.positions.push_back(position);
        REQUIRE(cohort.positions.size() == element::kMaxTreeDepth);
        for (std::size_t k = 0; k < cohort.positions.size(); ++k) {
            cohort.updates.push_back(Floats(300, static_cast<float>(k)));
            cohort.weights.push_back(1.0);
        }
        CHECK(tree_folds(cohort.positions) == std::vector<std::uint8_t>(element::kMaxTreeDepth, 0));
        CHECK(mean_of(cohort, MemorySpace::Host) == Floats(300, 16.0F));
    }

    TEST_CASE("TreeOneColumnAtATimeHasTheBitsOfWholeBlocks") {
        const Cohort cohort = random_cohort(23, 257, 5, 0.7);
        std::vector<const float*> values;
        for (const Floats& update : cohort.updates) values.push_back(update.data());
        const std::vector<std::uint8_t> folds = tree_folds(cohort.positions);
        const double total = sum_weights(cohort.positions, cohort.weights);
        const element::TreeTerms terms{values.data(), cohort.weights.data(), folds.data(), values.size(), total};
        Floats columns(257);
        for (std::size_t i = 0; i < columns.size(); ++i) element::tree_mean<1>(&columns[i], terms, i, 1);
        CHECK(testing::same_bits(columns, mean_of(cohort, MemorySpace::Host)));
    }

    TEST_CASE("TreeFourColumnsInRegistersHaveTheBitsOfWholeBlocks") {
        for (const std::size_t size : {1U, 2U, 5U, 23U, 64U, 300U}) {
            const Cohort cohort = random_cohort(size, 36, 6, size < 3 ? 1.0 : 0.7);
            std::vector<ParamBuffer> aligned;
            std::vector<const float*> values;
            for (const Floats& update : cohort.updates) {
                aligned.push_back(testing::upload(update, MemorySpace::Host));
                values.push_back(aligned.back().span().data);
            }
            const std::vector<std::uint8_t> folds = tree_folds(cohort.positions);
            const double total = sum_weights(cohort.positions, cohort.weights);
            const element::TreeTerms terms{values.data(), cohort.weights.data(), folds.data(), values.size(), total};
            const Floats expected = mean_of(cohort, MemorySpace::Host);
            const std::size_t depth = element::tree_depth(folds.data(), folds.size());
            CHECK(depth <= static_cast<std::size_t>(std::bit_width(size)));
            const ParamBuffer eight = testing::poisoned(36, MemorySpace::Host),
                              sixteen = testing::poisoned(36, MemorySpace::Host);
            for (std::size_t four = 0; four < 9; ++four) {
                if (depth <= 8) element::tree_mean_of_four<8>(eight.span().data, terms, four);
                element::tree_mean_of_four<16>(sixteen.span().data, terms, four);
            }
            if (depth <= 8) CHECK(testing::same_bits(testing::download(eight), expected));
            CHECK(testing::same_bits(testing::download(sixteen), expected));
        }
    }
}

TEST_SUITE("SlotSum") {
    TEST_CASE("SlotSumOfNothingIsAFault") {
        SlotSum sum(16, MemorySpace::Host);
        Floats slot(16);
        CHECK_THROWS_AS(sum.finish(ParamSpan(slot)), Fault);
        sum.zero_init();
        CHECK_THROWS_AS(sum.finish(ParamSpan(slot)), Fault);
        CHECK_THROWS_AS(sum.add(ConstParamSpan(Floats(17)), 1.0), ShapeError);
    }
}
