// The functions of a cohort's inner products beside sums over the vectors themselves; those of whole rules, too: cohort_rules_test.cpp.
#include "aggregation/formulas/cohort_products.h"
#include "aggregation/formulas/executor.h"

#include "aggregation/base/error.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

namespace fedhive::aggregation::formulas {
namespace {

using Vectors = std::vector<std::vector<float>>;

/// Near a common vector far from 0, if `common` is large.
Vectors some_updates(std::size_t count, std::size_t size, float common) {
    Vectors updates(count, std::vector<float>(size));
    for (std::size_t k = 0; k < count; ++k)
        for (std::size_t i = 0; i < size; ++i)
            updates[k][i] = common + 0.01F * static_cast<float>(static_cast<int>((i * 37 + k * 101 + k * k * 7) % 199) - 99);
    return updates;
}

InnerProducts products_between(const Vectors& updates) {
    const std::vector<ConstParamSpan> rows(updates.begin(), updates.end());
    return inner_products_of(rows, updates.size() > 1 ? 1 : 0);
}

std::vector<double> mixed(const Vectors& updates, const Numbers& x) {
    std::vector<double> sum(updates[0].size());
    for (std::size_t k = 0; k < updates.size(); ++k)
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += x[k] * static_cast<double>(updates[k][i]);
    return sum;
}

double product(const std::vector<float>& a, const std::vector<double>& b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < b.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
    return sum;
}

double squared_between(const std::vector<float>& a, const std::vector<double>& b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < b.size(); ++i) sum += std::pow(static_cast<double>(a[i]) - b[i], 2.0);
    return sum;
}

double length(const std::vector<double>& a) {
    double sum = 0.0;
    for (const double value : a) sum += value * value;
    return std::sqrt(sum);
}

Numbers of(Opcode op, const Numbers& x, const InnerProducts* products) {
    const std::array<const Numbers*, 1> arguments{&x};
    return of_products(op, arguments, products);
}

Numbers of(Opcode op, const Numbers& x, const Numbers& y, const InnerProducts& products) {
    const std::array<const Numbers*, 2> arguments{&x, &y};
    return of_products(op, arguments, &products);
}

Numbers nearest(double count, const InnerProducts& products, const Numbers& among = {1.0}) {
    return of(Opcode::NearestK, {count}, among, products);
}

Scope cohort_scope(bool products = true) {
    return {.given = {{"k.n", Shape::Cohort}, {"m", Shape::Number}, {"w", Shape::Vector}},
            .targets = {{"weight", Shape::Cohort}},
            .numbers = true,
            .products = products};
}

std::string refusal(const std::string& line, bool products = true) {
    try {
        parse(std::vector<std::string>{line}, cohort_scope(products));
    } catch (const FormulaError& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_SUITE("CohortProducts") {
    TEST_CASE("AreThoseOfTheVectorsThemselves") {
        for (const float common : {0.0F, 30.0F}) {
            CAPTURE(common);
            const Vectors updates = some_updates(6, 1000, common);
            const InnerProducts products = products_between(updates);
            for (const Numbers& x : {Numbers{0.1, 0.2, 0.3, 0.2, 0.1, 0.1}, Numbers{1.0, -2.0, 0.5, 0.0, 3.0, 1.0}}) {
                const std::vector<double> sum = mixed(updates, x);
                const Numbers dot = of(Opcode::DotK, x, &products), cos = of(Opcode::CosK, x, &products),
                              distance = of(Opcode::DistanceK, x, &products);
                for (std::size_t k = 0; k < updates.size(); ++k) {
                    const std::vector<double> own(updates[k].begin(), updates[k].end());
                    const double lengths = length(own) * length(sum), expected = product(updates[k], sum);
                    CHECK(std::fabs(dot[k] - expected) < 1e-5 * lengths);
                    CHECK(std::fabs(cos[k] - expected / lengths) < 1e-5);
                    CHECK(distance[k] == doctest::Approx(std::sqrt(squared_between(updates[k], sum))).epsilon(1e-5));
                }
            }
        }
    }

    TEST_CASE("OfOneNumberCountsForEachUpdate") {
        const InnerProducts products = products_between(some_updates(4, 50, 1.0F));
        CHECK(of(Opcode::DotK, {0.25}, &products) == of(Opcode::DotK, {0.25, 0.25, 0.25, 0.25}, &products));
        CHECK(of(Opcode::DistanceK, {0.25}, &products) == of(Opcode::DistanceK, {0.25, 0.25, 0.25, 0.25}, &products));
    }

    TEST_CASE("TheNearestAreOthersAndAtMostAllOthers") {
        const Vectors updates{{0.0F}, {1.0F}, {3.0F}, {7.0F}};
        const InnerProducts products = products_between(updates);
        CHECK(nearest(1.0, products) == Numbers{1.0, 1.0, 4.0, 16.0});
        CHECK(nearest(2.0, products) == Numbers{10.0, 5.0, 13.0, 52.0});
        const Numbers all{59.0, 41.0, 29.0, 101.0};
        CHECK(nearest(3.0, products) == all);
        CHECK(nearest(1e300, products) == all);
        CHECK(nearest(-1.0, products) == Numbers(4, 0.0));
        CHECK(nearest(std::nan(""), products) == Numbers(4, 0.0));
    }

    TEST_CASE("TheNearestAmongSomeAreThose") {
        const InnerProducts products = products_between({{0.0F}, {1.0F}, {3.0F}, {7.0F}});
        CHECK(nearest(1.0, products, {0.0, 1.0, 0.0, 2.0}) == Numbers{1.0, 36.0, 4.0, 36.0});
        CHECK(nearest(3.0, products, {0.0, 0.0, 0.0, 0.0}) == Numbers(4, 0.0));
    }

    TEST_CASE("TheClosestOfLargerNumbersCountLess") {
        // Cosines: 0.6 between the first two, -1 between the first and the last, -0.6 between the second and the last.
        const InnerProducts products = products_between({{1.0F, 0.0F}, {3.0F, 4.0F}, {-2.0F, 0.0F}});
        const Numbers all = of(Opcode::ClosestK, {1.0}, &products);
        CHECK(all[0] == doctest::Approx(0.6));
        CHECK(all[1] == doctest::Approx(0.6));
        CHECK(all[2] == 0.0);
        const Numbers pardoned = of(Opcode::ClosestK, {0.25, 1.0, 0.0}, &products);
        CHECK(pardoned[0] == doctest::Approx(0.15));
        CHECK(pardoned[1] == doctest::Approx(0.6));
        const InnerProducts alone = products_between({{1.0F}});
        CHECK(of(Opcode::ClosestK, {1.0}, &alone) == Numbers{0.0});
    }

    TEST_CASE("TheShortestCombinationIsOrthogonalToWhatItIsMadeOf") {
        // Unit vectors at a right angle: their middle. Near the shares, as near to it as the spread allows.
        const InnerProducts products = products_between({{2.0F, 0.0F}, {0.0F, 5.0F}});
        const Numbers free = of(Opcode::ShortestK, {0.9, 0.1}, {1.0}, products);
        CHECK(free[0] == doctest::Approx(0.5));
        CHECK(free[1] == doctest::Approx(0.5));
        const Numbers near = of(Opcode::ShortestK, {0.9, 0.1}, {0.2}, products);
        CHECK(near[0] == doctest::Approx(0.7));
        CHECK(near[1] == doctest::Approx(0.3));
    }

    TEST_CASE("WithoutConflictsLosesWhatPointsAgainstOthers") {
        // ⟨u_0, u_1⟩ = −1: u_0 loses −1/2 u_1, and u_1 loses −1 u_0. The third is orthogonal to both.
        const InnerProducts products = products_between({{1.0F, 0.0F, 0.0F}, {-1.0F, 1.0F, 0.0F}, {0.0F, 0.0F, 3.0F}});
        CHECK(of(Opcode::WithoutConflictsK, {1.0, 2.0, 3.0}, {1.0}, products) == Numbers{2.0, 1.5, 1.0});
        CHECK(of(Opcode::WithoutConflictsK, {1.0, 2.0, 3.0}, {1.0, 0.0, 1.0}, products) == Numbers{1.0, 1.5, 1.0});
        CHECK(of(Opcode::WithoutConflictsK, {1.0, 2.0, 3.0}, {0.0}, products) == Numbers{1.0, 1.0, 1.0});
    }

    TEST_CASE("ConflictsAreTakenByAscendingOrder") {
        // u_0 = (1, 0) against u_1 = (−1, 1) and u_2 = (−1, −2): the first loss changes the second.
        const InnerProducts products = products_between({{1.0F, 0.0F}, {-1.0F, 1.0F}, {-1.0F, -2.0F}});
        const Numbers first{1.0, 0.0, 0.0};
        const Numbers one = of(Opcode::WithoutConflictsK, {0.0, 1.0, 2.0}, first, products);  // (½, ½), then (½, ½) + 3/10 u_2
        CHECK(one[1] == doctest::Approx(1.5));
        CHECK(one[2] == doctest::Approx(1.3));
        const Numbers other = of(Opcode::WithoutConflictsK, {0.0, 2.0, 1.0}, first, products);  // (4, −2)/5, then + 3/5 u_1
        CHECK(other[1] == doctest::Approx(1.6));
        CHECK(other[2] == doctest::Approx(1.2));
    }

    TEST_CASE("TheCosineWithAZeroVectorIsZero") {
        const InnerProducts products = products_between({{0.0F, 0.0F}, {1.0F, 2.0F}, {1.0F, 2.0F}});
        const Numbers cosines = of(Opcode::CosK, {0.0, 1.0, 0.0}, &products);
        CHECK(cosines[0] == 0.0);
        CHECK(cosines[1] == doctest::Approx(1.0));
        CHECK(cosines[2] == doctest::Approx(1.0));
        CHECK(of(Opcode::CosK, {1.0, 0.0, 0.0}, &products) == Numbers{0.0, 0.0, 0.0});
    }

    TEST_CASE("FormulasReadThemWhereTheCohortIs") {
        const Vectors updates{{0.0F}, {1.0F}, {3.0F}, {7.0F}};
        const InnerProducts products = products_between(updates);
        Executor executor(parse(
            std::vector<std::string>{"weight = rank_k(nearest_k(m)) < 2", "a = sum_k(dot_k(k.n))", "b = max_k(simplex_k(k.n))"},
            cohort_scope()));
        executor.set("k.n", Numbers{1.0, 0.0, 0.0, 0.5});
        executor.set("m", 1.0);
        CHECK_THROWS_AS(executor.run({}), Fault);
        executor.set_products(&products);
        executor.run({});
        CHECK(executor.numbers("weight") == Numbers{1.0, 1.0, 0.0, 0.0});
        CHECK(executor.number("a") == 11.0 * 3.5);
        CHECK(executor.number("b") == 0.75);
        const InnerProducts others = products_between({{2.0F}, {2.0F}, {3.0F}, {2.0F}});
        executor.set_products(&others);
        executor.run({});
        CHECK(executor.number("a") == 9.0 * 3.0);
    }

    TEST_CASE("WhatTheyAreNotOfIsRefused") {
        CHECK(refusal("weight = dot_k(1 / m)").empty());
        CHECK(refusal("weight = dot_k(k.n)", false).find("`cohort`") != std::string::npos);
        CHECK(refusal("weight = nearest_k(k.n)").find("nearest_k takes a number of updates") != std::string::npos);
        CHECK(refusal("weight = distance_k(w)").find("take one number for each update") != std::string::npos);
        CHECK(refusal("weight = nearest_k(m, k.n)").empty());
        CHECK(refusal("weight = nearest_k(m, w)").find("take one number for each update") != std::string::npos);
        CHECK(refusal("weight = shortest_k(k.n, k.n)").find("one number, found") != std::string::npos);
        CHECK(refusal("weight = without_conflicts_k(k.n)").find("takes 2 values") != std::string::npos);
        CHECK(refusal("x = cos_k(k.n)").find("number") != std::string::npos);
        CHECK(refusal("weight = simplex_k(m)").find("one number for each update") != std::string::npos);
    }
}

}  // namespace fedhive::aggregation::formulas
