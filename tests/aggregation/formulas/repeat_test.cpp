// `repeat`: its turns beside loops written by hand, the shapes of what it sets, and what is refused.
#include "aggregation/formulas/executor.h"

#include "aggregation/base/error.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

namespace fedhive::aggregation::formulas {
namespace {

using Lines = std::vector<std::string>;

Scope scope_of_repeats() {
    return {.given = {{"k.n", Shape::Cohort}, {"turns", Shape::Number}, {"w", Shape::Vector}},
            .targets = {{"weight", Shape::Cohort}},
            .numbers = true,
            .products = true};
}

Executor run_lines(const Lines& lines, double turns = 3.0) {
    Executor executor(parse(lines, scope_of_repeats()));
    executor.set("k.n", Numbers{3.0, 1.0, 4.0});
    executor.set("turns", turns);
    executor.run({});
    return executor;
}

std::string refused_lines(const Lines& lines, const Scope& scope = scope_of_repeats()) {
    try {
        parse(lines, scope);
    } catch (const FormulaError& error) {
        return fmt::format("{}: {}", error.line, error.what());
    }
    return "";
}

}  // namespace

TEST_SUITE("Repeat") {
    TEST_CASE("ItsLinesRunSoManyTimesRoundedDown") {
        const Lines root = {"let x = 1", "repeat turns", "x = (x + 2 / x) / 2", "end", "a = x"};
        double x = 1.0;
        for (int turns = 0; turns < 6; ++turns, x = (x + 2.0 / x) / 2.0) {
            CHECK(run_lines(root, turns).number("a") == x);
            CHECK(run_lines(root, turns + 0.9).number("a") == x);
        }
        CHECK(run_lines(root, -5.0).number("a") == 1.0);
        CHECK(run_lines(root, std::nan("")).number("a") == 1.0);
        CHECK(run_lines(root, 1e6).number("a") == doctest::Approx(std::sqrt(2.0)));
        CHECK_THROWS_WITH_AS(
            run_lines(root, 1e7),
            doctest::Contains("a repeat of 10000000 turns in the formulas of the cohort; allowed: at most 1000000"),
            ConfigError);
    }

    TEST_CASE("ANameIsTheValueBeforeTheTurn") {
        const Executor fibonacci =
            run_lines({"let a = 0", "let b = 1", "repeat turns", "a = b", "b = a + b", "end", "x = a", "y = b"}, 10.0);
        const Executor swapped =
            run_lines({"let a = 1", "let b = 2", "repeat turns", "a = b", "b = a", "end", "x = a", "y = b"});
        CHECK(swapped.number("x") == 2.0);
        CHECK(swapped.number("y") == 1.0);
        CHECK(fibonacci.number("x") == 55.0);
        CHECK(fibonacci.number("y") == 89.0);
    }

    TEST_CASE("ANameHasTheShapeThatItBeginsWith") {
        const Lines lines = {"let c = 0 * k.n + 1", "repeat turns", "c = k.n + sum_k(c)", "end", "weight = c"};
        CHECK(run_lines(lines, 0.0).numbers("weight") == Numbers{1.0, 1.0, 1.0});
        CHECK(run_lines(lines, 1.0).numbers("weight") == Numbers{6.0, 4.0, 7.0});
        CHECK(run_lines(lines, 2.0).numbers("weight") == Numbers{20.0, 18.0, 21.0});
        const Lines back = {"let c = k.n", "repeat turns", "c = 2", "end", "x = sum_k(c)"};
        CHECK(run_lines(back, 0.0).number("x") == 8.0);
        CHECK(run_lines(back, 1.0).number("x") == 6.0);
    }

    TEST_CASE("WhatATurnComputesIsNotTakenForTheSameTextBehindIt") {
        const Lines lines = {"let x = 1", "repeat turns", "let twice = 2 * x",  "x = twice + sum_k(k.n * 3)",
                             "end",       "a = 2 * x",    "b = sum_k(k.n * 3)", "let twice = 7",
                             "c = twice", "repeat turns", "x = x + 1",          "end",
                             "e = x"};
        for (const double turns : {0.0, 1.0, 4.0}) {
            const Executor executor = run_lines(lines, turns);
            double x = 1.0;
            for (int turn = 0; turn < static_cast<int>(turns); ++turn) x = 2.0 * x + 24.0;
            CHECK(executor.number("a") == 2.0 * x);
            CHECK(executor.number("b") == 24.0);
            CHECK(executor.number("c") == 7.0);
            CHECK(executor.number("e") == x + turns);
        }
    }

    TEST_CASE("WhatIsWrongNamesTheLineAndWhatIsAllowed") {
        const auto has = [](const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; };
        CHECK(refused_lines({"let x = 1", "repeat turns", "x = 2 * x", "end", "a = x"}).empty());
        CHECK(refused_lines({"repeat = 1"}).empty());
        CHECK(has(refused_lines({"let x = 1", "repeat turns", "x = 2"}), "1: a repeat without a line `end`"));
        CHECK(has(refused_lines({"a = 1", "end"}), "1: `end` without a line `repeat COUNT`"));
        CHECK(has(refused_lines({"repeat turns", "x = 2", "end"}), "1: 'x' is set in a repeat, but no `let x` before it"));
        CHECK(has(refused_lines({"let x = 1", "repeat turns", "weight = 2", "end"}), "2: 'weight' is set in a repeat"));
        CHECK(has(refused_lines({"let x = 1", "repeat k.n", "x = 2", "end"}),
                  "1: repeat takes a number of times, found a number for each"));
        CHECK(has(refused_lines({"let x = 1", "repeat turns x", "x = 2", "end"}),
                  "1: 'repeat turns x': column 14: expected the end"));
        CHECK(has(refused_lines({"let x = 1", "repeat turns", "x = w", "end"}),
                  "2: 'x' begins as a number, but its formula gives a vector"));
        CHECK(has(refused_lines({"let x = 1", "repeat turns", "x = k.n", "end"}),
                  "2: 'x' begins as a number, but its formula gives a number for each update; begin with one for each, such as "
                  "0 * k.n"));
        CHECK(has(refused_lines({"let x = 1", "repeat turns", "x = 2", "x = 3", "end"}), "3: 'x' is set twice"));
        CHECK(has(refused_lines({"let x = 1", "repeat turns", "repeat 3", "x = 3", "end", "end"}),
                  "2: a repeat inside of another"));
        CHECK(has(refused_lines({"let x = 1", "repeat turns", "let y = 2", "x = y", "end", "a = y"}),
                  "5: 'y' has no value here"));
        Scope other = scope_of_repeats();
        other.products = false;
        CHECK(has(refused_lines({"repeat turns", "end"}, other),
                  "0: repeat changes numbers of a cohort; it is allowed only in `cohort`"));
    }
}

}  // namespace fedhive::aggregation::formulas
