// Contract of every arena, in any memory. `owner` is fresh; `other` sees the same memory (it may be the same object).
#pragma once

#include "aggregation/memory/arena.h"
#include "tests/aggregation/spans.h"

#include <doctest/doctest.h>

#include <cstdint>

namespace fedhive::aggregation::conformance {

inline void arena_conforms(const Arena& owner, const Arena& other) {
    const std::size_t num_floats = owner.geometry().num_floats;
    const std::size_t num_slots = owner.geometry().num_slots;
    const std::size_t num_globals = owner.geometry().num_globals;
    REQUIRE(num_slots > 0);
    const auto region = [&](const Arena& arena, std::size_t index) {
        return index < num_globals ? arena.global(index) : arena.slot(index - num_globals);
    };

    for (std::size_t i = 0; i < num_slots + num_globals; ++i) {
        const ParamSpan span = region(owner, i);
        CHECK(span.size == num_floats);
        CHECK(span.space == owner.space());
        CHECK(reinterpret_cast<std::uintptr_t>(span.data) % 256 == 0);
        CHECK(testing::same_bits(testing::download(span), testing::Floats(num_floats, 0.0F)));
    }
    // One side writes each region, the other reads it; regions do not overlap.
    for (std::size_t i = 0; i < num_slots + num_globals; ++i) {
        const testing::Floats values(num_floats, static_cast<float>(i + 1));
        copy(region(i % 2 == 0 ? owner : other, i), ConstParamSpan(values));
        synchronize(owner.space());
    }
    for (std::size_t i = 0; i < num_slots + num_globals; ++i) {
        const testing::Floats values(num_floats, static_cast<float>(i + 1));
        CHECK(testing::same_bits(testing::download(region(i % 2 == 0 ? other : owner, i)), values));
    }
    for (std::size_t i = 0; i < num_slots; ++i) {
        const std::size_t size = owner.geometry().exchange_floats;
        CHECK(owner.exchange(i).size == size);
        if (size == 0) continue;
        CHECK(reinterpret_cast<std::uintptr_t>(owner.exchange(i).data) % 256 == 0);
        copy(owner.exchange(i), ConstParamSpan(testing::Floats(size, -static_cast<float>(i + 1))));
        synchronize(owner.space());
        CHECK(testing::same_bits(testing::download(other.exchange(i)), testing::Floats(size, -static_cast<float>(i + 1))));
    }
    for (std::size_t i = 0; i < num_slots; ++i) {
        const std::size_t size = owner.geometry().kept_floats;
        CHECK(owner.kept(i).size == size);
        if (size == 0) continue;
        CHECK(reinterpret_cast<std::uintptr_t>(owner.kept(i).data) % 256 == 0);
        copy(other.kept(i), ConstParamSpan(testing::Floats(size, -static_cast<float>(i + 100))));
        synchronize(owner.space());
        CHECK(testing::same_bits(testing::download(owner.kept(i)), testing::Floats(size, -static_cast<float>(i + 100))));
        const std::size_t exchanged = owner.geometry().exchange_floats;
        CHECK(testing::same_bits(testing::download(other.exchange(i)), testing::Floats(exchanged, -static_cast<float>(i + 1))));
    }
    CHECK(testing::same_bits(testing::download(region(other, num_slots + num_globals - 1)),
                             testing::Floats(num_floats, static_cast<float>(num_slots + num_globals))));
    if (owner.geometry().num_aggregates == 0) {
        CHECK_THROWS_WITH_AS(owner.aggregate(), doctest::Contains("no room for an aggregate"), Fault);
    } else {
        const testing::Floats values(num_floats, -0.5F);
        copy(other.aggregate(), ConstParamSpan(values));
        synchronize(owner.space());
        CHECK(testing::same_bits(testing::download(owner.aggregate()), values));
        CHECK(testing::download(owner.slot(num_slots - 1)).back() == static_cast<float>(num_slots + num_globals));
    }
    CHECK_THROWS_AS(owner.global(num_globals), Fault);
    CHECK_THROWS_AS(owner.slot(num_slots), Fault);
    CHECK_THROWS_AS(owner.exchange(num_slots), Fault);
    CHECK_THROWS_AS(owner.kept(num_slots), Fault);
}

}  // namespace fedhive::aggregation::conformance
