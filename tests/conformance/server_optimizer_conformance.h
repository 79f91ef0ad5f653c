// Contract of every server optimiser, in either memory space.
#pragma once

#include "aggregation/math/server_optimizer.h"
#include "tests/aggregation/spans.h"

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace fedhive::aggregation::conformance {

/// For a model of that many parameters.
using MakeServerOptimizer = std::function<std::unique_ptr<ServerOptimizer>(std::size_t size)>;

/// Elements: one, one block of threads, several blocks, a number that no block size divides.
inline constexpr std::size_t kModelSizes[] = {1, 1000, 8193, 100003};

/// The global models after three steps on the first `size` elements of fixed vectors.
inline std::vector<testing::Floats> models_after_three_steps(ServerOptimizer& rule, std::size_t size, MemorySpace space) {
    const auto part = [&](std::uint32_t which) {
        testing::Floats values = testing::random_floats(std::max(size, kModelSizes[3]), which);
        values.resize(size);
        return values;
    };
    std::vector<testing::Floats> models;
    testing::Floats global = part(1);
    for (std::uint32_t step = 0; step < 3; ++step) {
        const ParamBuffer next = testing::poisoned(size, space);
        const ParamBuffer from = testing::upload(global, space);
        const ParamBuffer aggregate = testing::upload(part(2 + step), space);
        rule.step(next, from, {aggregate, 0.5, 1});
        CHECK(testing::same_bits(testing::download(from), global));
        CHECK(testing::same_bits(testing::download(aggregate), part(2 + step)));
        models.push_back(global = testing::download(next));
    }
    return models;
}

/// Each element of `next` depends only on the elements at its index, and all are written; on a device,
/// with the bits of the host.
inline void each_element_goes_its_own_way(const MakeServerOptimizer& make, MemorySpace space) {
    const auto longest = models_after_three_steps(*make(kModelSizes[3]), kModelSizes[3], space);
    for (const std::size_t size : kModelSizes) {
        CAPTURE(size);
        const auto models = models_after_three_steps(*make(size), size, space);
        for (std::size_t step = 0; step < models.size(); ++step) {
            const testing::Floats& of_longest = longest[step];
            CHECK(
                testing::same_bits(models[step], {of_longest.begin(), of_longest.begin() + static_cast<std::ptrdiff_t>(size)}));
        }
        if (space == MemorySpace::Cuda) CHECK(models == models_after_three_steps(*make(size), size, MemorySpace::Host));
    }
    CHECK(std::all_of(longest.back().begin(), longest.back().end(), [](float value) { return std::isfinite(value); }));
}

/// A second optimiser that gets the moments of the first continues exactly like it.
inline void goes_on_from_its_moments(const MakeServerOptimizer& make, MemorySpace space) {
    constexpr std::size_t kSize = 1000;
    const auto first = make(kSize);
    const auto second = make(kSize);
    const ParamBuffer global = testing::upload(testing::random_floats(kSize, 1), space);
    const ParamBuffer aggregate = testing::upload(testing::random_floats(kSize, 2), space);
    const ParamBuffer next = testing::poisoned(kSize, space);
    const ParamBuffer other_next = testing::poisoned(kSize, space);
    first->step(next, global, {aggregate, 0.5, 1});
    const auto from = first->moments(kSize, space);
    const auto to = second->moments(kSize, space);  // before its first step
    REQUIRE(from.size() == to.size());
    std::set<std::string> names;
    for (std::size_t i = 0; i < from.size(); ++i) {
        CHECK(std::string(from[i].name) == to[i].name);
        CHECK(names.insert(from[i].name).second);
        CHECK(from[i].values.size == kSize);
        CHECK_FALSE(testing::same_bits(testing::download(from[i].values), testing::download(to[i].values)));
        copy(to[i].values, from[i].values);
    }
    first->step(next, global, {aggregate, 0.5, 1});
    second->step(other_next, global, {aggregate, 0.5, 1});
    CHECK(testing::same_bits(testing::download(next), testing::download(other_next)));
}

inline void spans_that_do_not_fit_are_refused(const MakeServerOptimizer& make, MemorySpace space) {
    const ParamBuffer some(16, space);
    const ParamBuffer same(16, space);
    const ParamBuffer more(32, space);
    const ParamBuffer next(32, space);
    const auto rule = make(16);
    CHECK_THROWS_AS(rule->step(some, more, {more, 0.5, 1}), ShapeError);
    CHECK_THROWS_AS(rule->step(some, same, {more, 0.5, 1}), ShapeError);
    CHECK_THROWS_AS(rule->step(some, some, {same, 0.5, 1}), ShapeError);
    rule->step(some, same, {same, 0.5, 1});
    if (rule->moments(16, space).empty()) return;
    CHECK_THROWS_AS(rule->step(next, more, {more, 0.5, 1}), ShapeError);  // moments of another size
    CHECK_THROWS_AS(rule->moments(32, space), ShapeError);
}

inline void server_optimizer_conforms(const MakeServerOptimizer& make, MemorySpace space) {
    each_element_goes_its_own_way(make, space);
    goes_on_from_its_moments(make, space);
    spans_that_do_not_fit_are_refused(make, space);
}

}  // namespace fedhive::aggregation::conformance
