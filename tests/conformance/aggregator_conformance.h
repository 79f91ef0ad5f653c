// Contract of every aggregator, in either memory space.
#pragma once

#include "aggregation/math/aggregator.h"
#include "tests/aggregation/spans.h"

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <vector>

namespace fedhive::aggregation::conformance {

using MakeAggregator = std::function<std::unique_ptr<Aggregator>()>;

/// The aggregate of updates at positions 0, 1, …, all with weight 1.
inline testing::Floats aggregate_of(Aggregator& rule, const std::vector<testing::Floats>& updates, MemorySpace space) {
    std::vector<ParamBuffer> slots;
    for (const testing::Floats& update : updates) slots.push_back(testing::upload(update, space));
    rule.zero_init(updates.front().size(), space);
    for (std::size_t k = 0; k < slots.size(); ++k) rule.aggregate({slots[k], k, 1.0, 1.0, 1});
    return testing::download(rule.finish().values);
}

inline void one_update_is_returned_as_it_is(const MakeAggregator& make, MemorySpace space) {
    for (const std::size_t size : {1U, 16U, 255U, 256U, 1025U}) {
        const testing::Floats update = testing::random_floats(size, 1);
        CHECK(testing::same_bits(aggregate_of(*make(), {update}, space), update));
    }
    // A single update's weight cancels out; small integers stay exact.
    const testing::Floats update{1.0F, -2.0F, 4.0F, 0.0F};
    const ParamBuffer slot = testing::upload(update, space);
    const auto rule = make();
    rule->zero_init(update.size(), space);
    rule->aggregate({slot, 5, 8.0, 8.0, 1});
    const Aggregate aggregate = rule->finish();
    CHECK(testing::same_bits(testing::download(aggregate.values), update));
    CHECK(aggregate.weight == 8.0);
    CHECK(aggregate.clients == 1);
}

inline void equal_updates_give_that_update(const MakeAggregator& make, MemorySpace space) {
    const testing::Floats update{3.0F, -5.0F, 0.0F, 1024.0F};
    for (const std::size_t count : {2U, 3U, 7U})
        CHECK(testing::same_bits(aggregate_of(*make(), std::vector<testing::Floats>(count, update), space), update));
}

inline void nothing_of_the_round_before_remains(const MakeAggregator& make, MemorySpace space) {
    const std::vector<testing::Floats> updates{testing::random_floats(300, 1), testing::random_floats(300, 2),
                                               testing::random_floats(300, 3)};
    const testing::Floats fresh = aggregate_of(*make(), updates, space);
    const auto used = make();
    const testing::Floats nan(300, std::numeric_limits<float>::quiet_NaN());
    aggregate_of(*used, {nan, nan, nan, nan, nan}, space);
    CHECK(testing::same_bits(aggregate_of(*used, updates, space), fresh));
    CHECK(testing::same_bits(aggregate_of(*used, {testing::Floats(17, 2.0F)}, space), testing::Floats(17, 2.0F)));
}

/// Powers of two and small integers, so that every step is exact.
inline void translation_and_scale_are_followed(const MakeAggregator& make, MemorySpace space) {
    const std::vector<testing::Floats> updates{{1.0F, 8.0F}, {5.0F, -4.0F}, {2.0F, 16.0F}, {-8.0F, 0.0F}};
    std::vector<testing::Floats> moved = updates;
    for (testing::Floats& update : moved)
        for (float& value : update) value = 4.0F * value + 32.0F;
    testing::Floats expected = aggregate_of(*make(), updates, space);
    for (float& value : expected) value = 4.0F * value + 32.0F;
    CHECK(testing::same_bits(aggregate_of(*make(), moved, space), expected));
}

/// Ranges of uneven sizes, each by its own rule object, as in workers.
inline void ranges_give_the_bits_of_one_pass(const MakeAggregator& make, MemorySpace space) {
    constexpr std::size_t kFloats = 3000;
    const auto rule = make();
    REQUIRE(rule->column_rule() != ColumnRule::None);
    std::vector<ParamBuffer> slots;
    for (std::uint32_t k = 0; k < 7; ++k) slots.push_back(testing::upload(testing::random_floats(kFloats, k), space));
    const auto result = [&](Aggregator& one, std::size_t first, std::size_t count) {
        one.zero_init(count, space);
        for (std::size_t k = 0; k < slots.size(); ++k) {
            const double weight = 1.0 + static_cast<double>(k) / 3.0;
            one.aggregate({ConstParamSpan(slots[k]).part(first, count), 2 * k, weight, weight, 1});
        }
        return testing::download(one.finish().values);
    };
    const testing::Floats whole = result(*rule, 0, kFloats);
    testing::Floats joined;
    const auto other = make_aggregator(rule->column_rule(), rule->column_number());
    for (const auto& [first, count] : {std::pair<std::size_t, std::size_t>{0, 1024}, {1024, 7}, {1031, 1969}}) {
        const testing::Floats part = result(*other, first, count);
        joined.insert(joined.end(), part.begin(), part.end());
    }
    CHECK(testing::same_bits(joined, whole));
    CHECK(result(*other, 0, 0).empty());
}

/// Sizes that no single block of threads covers, and up to 70 updates. On a device, the bits of the host.
inline void large_updates_conform(const MakeAggregator& make, MemorySpace space) {
    for (const auto& [size, most] : {std::pair<std::size_t, std::size_t>{8193, 70}, {32769, 9}, {100003, 3}}) {
        std::vector<testing::Floats> updates;
        for (std::uint32_t k = 0; k < most; ++k) updates.push_back(testing::random_floats(size, k));
        for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{3}, most}) {
            const std::vector<testing::Floats> some(updates.begin(), updates.begin() + static_cast<std::ptrdiff_t>(count));
            const testing::Floats result = aggregate_of(*make(), some, space);
            if (count == 1) CHECK(testing::same_bits(result, updates[0]));
            if (space == MemorySpace::Cuda) CHECK(testing::same_bits(result, aggregate_of(*make(), some, MemorySpace::Host)));
            if (make()->column_rule() == ColumnRule::None) continue;
            // The last element must not affect the others.
            std::vector<testing::Floats> shorter;
            for (const testing::Floats& update : some) shorter.emplace_back(update.begin(), update.end() - 1);
            const testing::Floats without_last = aggregate_of(*make(), shorter, space);
            CHECK(testing::same_bits({result.begin(), result.end() - 1}, without_last));
        }
    }
}

inline void misuse_is_refused(const MakeAggregator& make, MemorySpace space) {
    const ParamBuffer slot = testing::upload(testing::Floats(32, 1.0F), space);
    const ParamBuffer short_slot = testing::upload(testing::Floats(16, 1.0F), space);
    const auto rule = make();
    rule->zero_init(32, space);
    CHECK_THROWS_AS(rule->finish(), Fault);
    CHECK_THROWS_AS(rule->aggregate({short_slot, 0, 1.0, 1.0, 1}), ShapeError);
    const MemorySpace elsewhere = space == MemorySpace::Host ? MemorySpace::Cuda : MemorySpace::Host;
    CHECK_THROWS_AS(rule->aggregate({ConstParamSpan(slot.span().data, 32, elsewhere), 0, 1.0, 1.0, 1}), ShapeError);
    rule->aggregate({slot, 3, 1.0, 1.0, 1});
    CHECK_THROWS_AS(rule->aggregate({slot, 3, 1.0, 1.0, 1}), Fault);
    CHECK_THROWS_AS(rule->aggregate({slot, 2, 1.0, 1.0, 1}), Fault);
    CHECK_THROWS_AS(rule->aggregate({slot, 4, 1.0, 1.0, 0}), Fault);
}

inline void aggregator_conforms(const MakeAggregator& make, MemorySpace space) {
    one_update_is_returned_as_it_is(make, space);
    equal_updates_give_that_update(make, space);
    nothing_of_the_round_before_remains(make, space);
    translation_and_scale_are_followed(make, space);
    if (make()->column_rule() != ColumnRule::None) ranges_give_the_bits_of_one_pass(make, space);
    large_updates_conform(make, space);
    misuse_is_refused(make, space);
}

}  // namespace fedhive::aggregation::conformance
