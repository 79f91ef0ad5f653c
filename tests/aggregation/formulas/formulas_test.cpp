// Formulas: their grammar, their values beside loops written by hand, and that neither a processor, a range nor a chunk changes a bit.
#include "aggregation/formulas/executor.h"

#include "aggregation/formulas/elements.h"
#include "tests/aggregation/spans.h"
#include "tests/support/skip.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace fedhive::aggregation::formulas {
namespace {

using Lines = std::vector<std::string>;

const Scope& client_scope() {
    static const Scope scope{
        .given = {{"g", Shape::Vector},
                  {"w", Shape::Vector},
                  {"w_t", Shape::Vector},
                  {"c", Shape::Vector},
                  {"mu", Shape::Number},
                  {"steps", Shape::Number},
                  {"k.n", Shape::Cohort},
                  {"k.loss", Shape::Cohort}},
        .targets = {{"g", Shape::Vector}, {"c", Shape::Vector}, {"weight", Shape::Cohort}, {"d", Shape::Vector}},
        .numbers = true};
    return scope;
}

/// Vectors of one length by name; run() evaluates lines with mu = 0.1, steps = 7.
struct Bench {
    explicit Bench(std::size_t size) : ranges{{0, size}} {
        for (const char* name : {"g", "w", "w_t", "c"}) {
            std::vector<float>& values = vectors[name];
            for (std::size_t i = 0; i < size; ++i)
                values.push_back(0.01F * static_cast<float>(static_cast<int>((i * 37 + vectors.size() * 11) % 201) - 100));
        }
        vectors["d"].assign(size, 5.0F);
    }

    Executor run(const Lines& lines, const Loops* loops = nullptr) {
        Executor executor(parse(lines, client_scope()), loops);
        executor.set("mu", 0.1);
        executor.set("steps", 7.0);
        executor.set("k.n", Numbers{3.0, 1.0, 4.0, 2.0});
        executor.set("k.loss", Numbers{0.5, 2.0, 1.0, 1.0});
        for (auto& [name, values] : vectors) {
            executor.set(name, ConstParamSpan(values));
            executor.write_to(name, ParamSpan(values));
        }
        executor.run(ranges);
        return executor;
    }

    std::map<std::string, std::vector<float>> vectors;
    std::vector<ElementRange> ranges;
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::string refused(const Lines& lines) {
    try {
        compile(parse(lines, client_scope()));
    } catch (const FormulaError& error) {
        return fmt::format("{}: {}", error.line, error.what());
    }
    return "";
}

/// Three rows of g and w, each 1,337 of 1,400 floats, beside one w_t.
void rows_conform(MemorySpace space) {
    constexpr std::size_t kRows = 3, kWidth = 1337, kStride = 1400;
    const Lines lines = {"g = g + mu * (w - w_t)"};
    const Bench wide(kRows * kStride);
    const std::vector<float>&g = wide.vectors.at("g"), &w = wide.vectors.at("w");
    std::vector<float> expected = g;
    for (std::size_t row = 0; row < kRows; ++row) {
        Bench one(kWidth);
        one.vectors["g"].assign(g.data() + row * kStride, g.data() + row * kStride + kWidth);
        one.vectors["w"].assign(w.data() + row * kStride, w.data() + row * kStride + kWidth);
        one.run(lines);
        std::ranges::copy(one.vectors["g"], expected.begin() + static_cast<std::ptrdiff_t>(row * kStride));
    }
    const ParamBuffer gradients = testing::upload(g, space), models = testing::upload(w, space),
                      sent = testing::upload(Bench(kWidth).vectors["w_t"], space);
    Executor executor(parse(lines, client_scope()));
    executor.set("mu", 0.1);
    executor.set("w_t", ConstParamSpan(sent));
    executor.set_at(executor.place_of("g"), ConstParamSpan(gradients), kStride);
    executor.set_at(executor.place_of("w"), ConstParamSpan(models), kStride);
    executor.write_to("g", gradients, kStride);
    const std::vector<ElementRange> all{{0, kWidth}};
    executor.run(all, kRows);
    CHECK(same_bits(testing::download(gradients), expected));
    const Lines norm = {"g = g / norm(g)"};
    Executor sums(parse(norm, client_scope()));
    CHECK_THROWS_WITH_AS(sums.run(all, kRows), doctest::Contains("sums over the elements of 3 rows"), Fault);
    CHECK_THROWS_WITH_AS(sums.gradient_pass(), doctest::Contains("not one pass"), Fault);
}

double value_of(const std::string& expression) { return Bench(64).run({"x = " + expression}).number("x"); }

TEST_SUITE("Formulas") {
    TEST_CASE("AFormulaHasTheBitsOfALoopThatSaysTheSame") {
        Bench bench(1337);
        const auto before = bench.vectors;
        bench.run({"g = g + mu * (w - w_t)"});
        for (std::size_t i = 0; i < 1337; ++i) {
            const float expected = before.at("g")[i] + 0.1F * (before.at("w")[i] - before.at("w_t")[i]);
            CHECK_EQ(std::bit_cast<std::uint32_t>(bench.vectors["g"][i]), std::bit_cast<std::uint32_t>(expected));
        }
        CHECK(same_bits(bench.vectors["w"], before.at("w")));
    }

    TEST_CASE("EveryNameOnTheRightIsTheValueBeforeAllLines") {
        Bench bench(700);
        const auto before = bench.vectors;
        bench.run({"let change = (w_t - w) / (steps * mu) - c", "d = change", "c = c + change", "g = c - g"});
        for (std::size_t i = 0; i < 700; ++i) {
            const float change = (before.at("w_t")[i] - before.at("w")[i]) / static_cast<float>(7.0 * 0.1) - before.at("c")[i];
            CHECK_EQ(bench.vectors["d"][i], change);
            CHECK_EQ(bench.vectors["c"][i], before.at("c")[i] + change);
            CHECK_EQ(bench.vectors["g"][i], before.at("c")[i] - before.at("g")[i]);
        }
    }

    TEST_CASE("TargetsMayBeCopiesSwapsAndNumbers") {
        Bench bench(600);
        const auto before = bench.vectors;
        bench.run({"g = c", "c = g", "d = 2"});
        CHECK(same_bits(bench.vectors["g"], before.at("c")));
        CHECK(same_bits(bench.vectors["c"], before.at("g")));
        CHECK(same_bits(bench.vectors["d"], std::vector<float>(600, 2.0F)));
    }

    TEST_CASE("OnlyTheElementsOfTheRangesAreWrittenAndSummed") {
        Bench bench(100);
        bench.ranges = {{0, 10}, {16, 30}};
        const Executor executor = bench.run({"d = 1", "x = sum(w)", "y = mean(w)"});
        double sum = 0.0;
        for (std::size_t i = 0; i < 100; ++i) {
            const bool inside = i < 10 || (i >= 16 && i < 46);
            CHECK_EQ(bench.vectors["d"][i], inside ? 1.0F : 5.0F);
            if (inside) sum += static_cast<double>(bench.vectors["w"][i]);
        }
        CHECK_EQ(executor.number("x"), doctest::Approx(sum));
        CHECK_EQ(executor.number("y"), doctest::Approx(sum / 40.0));
    }

    TEST_CASE("NumbersFollowTheUsualRules") {
        CHECK_EQ(value_of("2 + 3 * 4 ^ 2 / 8"), 8.0);
        CHECK_EQ(value_of("-2 ^ 2"), -4.0);
        CHECK_EQ(value_of("2 ^ -1"), 0.5);
        CHECK_EQ(value_of("2 ^ 3 ^ 2"), 512.0);
        CHECK_EQ(value_of("(7 % 4) - -1"), 4.0);
        CHECK_EQ(value_of("1 - 2 - 3"), -4.0);
        CHECK_EQ(value_of("where(mu < 0.5, 10, 20) + (mu >= 1)"), 10.0);
        CHECK_EQ(value_of("minimum(3, maximum(1, 2)) * sign(-5) * abs(-2) + floor(2.5)"), -2.0);
        CHECK_EQ(value_of("1e-3 * 1000 + .5"), 1.5);
        CHECK_EQ(value_of("relu(-1) + sqrt(16) + 16 ^ 0.5"), 8.0);
        for (const double x : {-30.0, -1.0, -1e-9, 0.0, 0.3, 1.0, 50.0, 700.0}) {
            CHECK_EQ(exponential(x), doctest::Approx(std::exp(x)).epsilon(1e-15));
            CHECK_EQ(of_one<Opcode::Tanh>(x), doctest::Approx(std::tanh(x)).epsilon(1e-9));
        }
        for (const double x : {1e-300, 0.1, 0.70710678, 1.0, 3.0, 1e300})
            CHECK_EQ(logarithm(x), doctest::Approx(std::log(x)).epsilon(1e-15));
        CHECK_EQ(power(3.0, 2.5), doctest::Approx(std::pow(3.0, 2.5)).epsilon(1e-14));
        CHECK_EQ(exponential(-800.0), 0.0);
        CHECK(std::isinf(exponential(800.0)));
        CHECK(std::isnan(logarithm(-1.0)));
        CHECK(std::isinf(logarithm(0.0F)));
    }

    TEST_CASE("FunctionsOfVectorsAreThoseOfTheLibraryToTheirLastBits") {
        struct Case {
            const char* name;
            std::function<double(double)> exact;
        };
        for (const Case& one : std::vector<Case>{{"exp", [](double x) { return std::exp(x); }},
                                                 {"tanh", [](double x) { return std::tanh(x); }},
                                                 {"sigmoid", [](double x) { return 1.0 / (1.0 + std::exp(-x)); }},
                                                 {"relu", [](double x) { return std::max(x, 0.0); }},
                                                 {"sign", [](double x) { return x > 0   ? 1.0
                                                                                : x < 0 ? -1.0
                                                                                        : 0.0; }}}) {
            Bench bench(900);
            const std::vector<float> before = bench.vectors["w"];
            bench.run({fmt::format("d = {}(w)", one.name)});
            for (std::size_t i = 0; i < 900; ++i)
                CHECK_MESSAGE(bench.vectors["d"][i] == doctest::Approx(one.exact(static_cast<double>(before[i]))).epsilon(1e-6),
                              one.name);
        }
        Bench bench(900);
        bench.run({"d = log(w ^ 2 + 1e-3)", "g = (w ^ 2) ^ 1.5"});
        for (std::size_t i = 0; i < 900; ++i) {
            const double w = static_cast<double>(bench.vectors["w"][i]);
            CHECK_EQ(bench.vectors["d"][i], doctest::Approx(std::log(w * w + 1e-3)).epsilon(1e-5));
            if (w != 0.0) CHECK_EQ(bench.vectors["g"][i], doctest::Approx(std::pow(w * w, 1.5)).epsilon(1e-5));
        }
    }

    TEST_CASE("ValuesOfTheWholeVectorMayStandInsideOneAnother") {
        Bench bench(3000);
        const auto before = bench.vectors;
        const Executor executor = bench.run({"let unit = g / norm(g)", "d = unit * dot(unit, w)", "x = cos(g, w)"});
        double gg = 0.0, gw = 0.0, ww = 0.0;
        for (std::size_t i = 0; i < 3000; ++i) {
            const double g = static_cast<double>(before.at("g")[i]), w = static_cast<double>(before.at("w")[i]);
            gg += g * g;
            gw += g * w;
            ww += w * w;
        }
        CHECK_EQ(executor.number("x"), doctest::Approx(gw / std::sqrt(gg * ww)));
        for (std::size_t i = 0; i < 3000; i += 100)
            CHECK_EQ(bench.vectors["d"][i], doctest::Approx(static_cast<double>(before.at("g")[i]) * gw / gg).epsilon(1e-4));
    }

    TEST_CASE("AThresholdIsTheSmallestOfTheLargestMagnitudes") {
        Bench bench(3000);
        bench.ranges = {{0, 1000}, {1008, 1900}};
        std::vector<float> magnitudes;
        for (const ElementRange& range : bench.ranges)
            for (std::size_t i = range.first; i < range.first + range.width; ++i)
                magnitudes.push_back(std::fabs(bench.vectors["w"][i] - bench.vectors["g"][i]));
        std::sort(magnitudes.begin(), magnitudes.end(), std::greater<>());
        for (const auto& [share, place] : std::vector<std::pair<const char*, std::size_t>>{
                 {"0", 0}, {"-1", 0}, {"0.001", 2}, {"0.25", 724}, {"mu", 289}, {"1", 2899}, {"7", 2899}}) {
            const Executor executor = bench.run({fmt::format("x = threshold(w - g, {})", share)});
            CHECK_EQ(executor.number("x"), static_cast<double>(magnitudes[place]));
        }
        // Beside sums in one pass, of another value of the whole vector, and again.
        const float small = bench.vectors["g"][5];
        Executor executor = bench.run(
            {"x = threshold(g / norm(g), 0.5) * norm(g)", "y = sum(w)", "d = where(abs(g) >= threshold(g, 0.5), g, 0)"});
        CHECK_EQ(executor.number("x"), doctest::Approx(0.5).epsilon(0.1));
        CHECK_EQ(bench.vectors["d"][5], std::fabs(small) >= 0.5F ? small : 0.0F);
        for (float& value : bench.vectors["g"]) value = -0.25F;
        bench.vectors["g"][3] = std::nanf("");
        executor.run(bench.ranges);
        CHECK_EQ(bench.vectors["d"][5], -0.25F);  // all are as large
        CHECK(std::isnan(bench.run({"x = threshold(g, 0)"}).number("x")));
    }

    TEST_CASE("ASecondRunIsOfTheVectorsOfItsTime") {
        Bench bench(700);
        Executor executor = bench.run({"let total = 2 * sum(w)", "x = total", "d = w * total"});
        for (float& value : bench.vectors["w"]) value = 0.25F;
        executor.run(bench.ranges);
        CHECK_EQ(executor.number("x"), 350.0);
        CHECK_EQ(bench.vectors["d"][699], 87.5F);
    }

    TEST_CASE("CohortFunctionsGiveOneNumberOrOneForEachUpdate") {
        const Executor executor =
            Bench(16).run({"weight = k.n / sum_k(k.n) * rank_k(k.loss)", "a = mean_k(k.loss)", "b = median_k(k.n)",
                           "e = max_k(softmax_k(k.n))", "f = sum_k(sort_k(k.n) * k.loss)"});
        CHECK_EQ(executor.numbers("weight"), Numbers{0.0, 0.1 * 3.0, 0.4 * 1.0, 0.2 * 2.0});
        CHECK_EQ(executor.number("a"), 1.125);
        CHECK_EQ(executor.number("b"), 2.5);
        CHECK_EQ(executor.number("e"),
                 doctest::Approx(std::exp(4.0) / (std::exp(1.0) + std::exp(2.0) + std::exp(3.0) + std::exp(4.0))));
        CHECK_EQ(executor.number("f"), 0.5 * 1.0 + 2.0 * 2.0 + 1.0 * 3.0 + 1.0 * 4.0);
    }

    TEST_CASE("BitsAreThoseOfAnyProcessor") {
        const Lines lines = {
            "let far = norm(w - w_t)",
            "d = exp(-abs(w)) * sigmoid(g) + tanh(c) / (1 + sqrt(w ^ 2)) - where(g > 0, mu, w) + log(1 + g ^ 2)",
            "g = (w - c) * (far - g) + minimum(w, c) - maximum(g, 0.1) * floor(w) + relu(c) * sign(w)"};
        Bench expected(2999);
        expected.run(lines, loops_by_name("plain"));
        for (const char* name : {"avx2", "avx512"}) {
            const Loops* loops = loops_by_name(name);
            if (loops == nullptr) {
                MESSAGE("skipped: this processor has no " << std::string(name));
                continue;
            }
            Bench bench(2999);
            bench.run(lines, loops);
            CHECK(same_bits(bench.vectors["d"], expected.vectors["d"]));
            CHECK(same_bits(bench.vectors["g"], expected.vectors["g"]));
        }
    }

    TEST_CASE("Gpu: ADeviceGivesTheBitsOfTheHost") {
        if (const std::string reason = testing::no_gpu_reason(); !reason.empty()) FEDHIVE_SKIP(reason);
        const Lines lines = {"let far = norm(w - w_t) + sum(abs(c)) * mean(g) + threshold(w - g, 0.1)", "x = cos(g, w) + far",
                             "d = exp(-abs(w)) * sigmoid(g) + tanh(c) / far - where(g > 0, mu, w) + log(1 + g ^ 2)",
                             "g = (w - c) * (far - g) + minimum(w, c) - maximum(g, 0.1) * floor(w) + relu(c) * sign(w)"};
        Bench host(2999);
        host.ranges = {{0, 1000}, {1008, 1991}};
        Executor on_device(parse(lines, client_scope()));
        on_device.set("mu", 0.1);
        std::map<std::string, ParamBuffer> buffers;
        for (const auto& [name, values] : host.vectors) {
            buffers[name] = testing::upload(values, MemorySpace::Cuda);
            on_device.set(name, ConstParamSpan(buffers[name]));
            on_device.write_to(name, buffers[name]);
        }
        on_device.run(host.ranges);
        CHECK_EQ(host.run(lines).number("x"), on_device.number("x"));
        for (const char* name : {"d", "g", "w"}) CHECK(same_bits(testing::download(buffers[name]), host.vectors[name]));
    }

    TEST_CASE("PiecesGiveTheBitsOfTheWhole") {
        const Lines lines = {"g = g + mu * (w - w_t) - c * c / (steps + w ^ 2)"};
        Bench whole(1500), pieces(1500);
        whole.run(lines);
        pieces.ranges = {{0, 7}, {7, 600}, {607, 67}, {674, 826}};
        pieces.run(lines);
        CHECK(same_bits(whole.vectors["g"], pieces.vectors["g"]));
    }

    TEST_CASE("RowsGiveTheBitsOfOneAfterTheOther") { rows_conform(MemorySpace::Host); }

    TEST_CASE("Gpu: RowsOnADeviceGiveTheBitsOfOneAfterTheOther") {
        if (const std::string reason = testing::no_gpu_reason(); !reason.empty()) FEDHIVE_SKIP(reason);
        rows_conform(MemorySpace::Cuda);
    }

    TEST_CASE("WhatIsWrongNamesTheLineAndWhatIsAllowed") {
        const auto has = [](const std::string& text, std::initializer_list<const char*> parts) {
            return std::all_of(parts.begin(), parts.end(),
                               [&](const char* part) { return text.find(part) != std::string::npos; });
        };
        CHECK(has(refused({"g = g", "d = wt"}), {"1: ", "'wt'", "w_t"}));
        CHECK(has(refused({"w = g"}), {"0: ", "'w'", "c, d, g, weight"}));
        CHECK(has(refused({"g = g +"}), {"column 8"}));
        CHECK(has(refused({"g = (g"}), {"')'"}));
        CHECK(has(refused({"g = g g"}), {"column 7", "end of the line"}));
        CHECK(has(refused({"g = relux(g)"}), {"relux", "relu"}));
        CHECK(has(refused({"g = minimum(g)"}), {"minimum", "2 values", "found 1"}));
        CHECK(has(refused({"x = g"}), {"'x' is a vector"}));
        CHECK(has(refused({"x = k.n"}), {"'x' is a number for each update", "sum_k"}));
        CHECK(has(refused({"g = g * k.n"}), {"sum_k"}));
        CHECK(has(refused({"x = norm(mu)"}), {"vectors"}));
        CHECK(has(refused({"x = threshold(mu, 0.5)"}), {"threshold take vectors"}));
        CHECK(has(refused({"x = threshold(g, w)"}), {"the share of threshold"}));
        CHECK(has(refused({"x = sum_k(mu)"}), {"_k"}));
        CHECK(has(refused({"g = g % 2"}), {"%"}));
        CHECK(has(refused({"g = g", "g = w"}), {"set twice"}));
        CHECK(has(refused({"let w = g", "g = w"}), {"already has a meaning"}));
        CHECK(has(refused({"let a = g", "let a = w", "g = a"}), {"1: ", "already has a meaning"}));
        CHECK(has(refused({"g = 1.2.3 * g"}), {"column"}));
        CHECK(has(refused({""}), {"a name"}));
        CHECK(has(refused({"g = " + std::string(5000, '1')}), {"4096"}));
        CHECK(has(refused({"g = " + std::string(200, '(') + "g" + std::string(200, ')')}), {"levels"}));
        CHECK(has(refused({"g = " + std::string(300, '-') + "g"}), {"levels"}));
        std::string much = "g = w";
        for (int i = 0; i < 200; ++i) much += fmt::format(" + exp(w + {})", i);
        CHECK(has(refused({much}), {"more than"}));
    }
}

}  // namespace
}  // namespace fedhive::aggregation::formulas
