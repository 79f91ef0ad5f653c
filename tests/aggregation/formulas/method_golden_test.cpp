// Every method of configs/methods: its formulas give what its Python functions give on the same values (tests/golden/methods.py).
#include "aggregation/formulas/class_tables.h"
#include "aggregation/formulas/formula_server.h"
#include "aggregation/formulas/row_loss.h"
#include "aggregation/formulas/simplified.h"
#include "aggregation/math/inner_products.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <numeric>

namespace fedhive::aggregation::formulas {
namespace {

using nlohmann::json;

const json& golden() {
    static const json all = json::parse(std::ifstream(FEDHIVE_SOURCE_DIR "/tests/golden/methods.json"));
    return all;
}

Lines lines_of(const json& formulas) {
    if (!formulas.is_array()) return {formulas.get<std::string>()};
    return formulas.get<Lines>();
}

MethodFormulas method_of(const json& one) {
    const json& box = one["box"];
    MethodFormulas method;
    for (const auto& [name, value] : one["inputs"]["keys"].items()) method.keys[name] = value;
    method.keys.emplace("server_lr", 1.0);
    for (const json& memory : box.value("memories", json::array())) {
        if (memory.value("shape", "") == "clients") {
            method.of_clients.push_back({.name = memory["name"]});
            continue;
        }
        const std::string owner = memory["owner"];
        method.memories.push_back({.name = memory["name"],
                                   .owner = owner == "server"   ? MemoryOwner::Server
                                            : owner == "client" ? MemoryOwner::Client
                                                                : MemoryOwner::Visit,
                                   .down = memory.value("down", false),
                                   .up = memory.value("up", false),
                                   .shape = shape_named(memory.value("shape", "")).value_or(MemoryShape::Trainable)});
    }
    for (const json& report : box.value("reports", json::array())) method.reports.push_back(report["name"]);
    method.second_on_next = box.contains("second_batch");
    if (box.contains("also_at"))
        for (const auto& [name, at] : box["also_at"].items()) method.also_at.push_back({name, at});
    if (box.contains("losses_at"))
        for (const auto& [name, at] : box["losses_at"].items()) method.losses_at.push_back({name, at});
    for (const std::string& word : words_of<Place>())
        if (box.contains(word)) method.lines[from_word<Place>(word).value()] = lines_of(box[word]);
    return method;
}

/// A matrix, row by row.
std::vector<float> flat(const json& rows) {
    std::vector<float> all;
    for (const json& row : rows) {
        const auto values = row.get<std::vector<float>>();
        all.insert(all.end(), values.begin(), values.end());
    }
    return all;
}

constexpr ClassSizes kGoldenSizes{.classes = 10, .features = 12};

/// The vectors and numbers of a place, by name.
struct Values {
    explicit Values(const json& named, const std::string& prefix = "") {
        for (const auto& [name, value] : named.items()) {
            if (!value.is_array())
                numbers[prefix + name] = {value.get<double>()};
            else if (prefix.empty())
                vectors[name] = value[0].is_array() ? flat(value) : value.get<std::vector<float>>();
            else if (!value[0].is_array())
                numbers[prefix + name] = value.get<Numbers>();
        }
    }

    std::map<std::string, std::vector<float>> vectors;
    std::map<std::string, Numbers> numbers;
};

void check_near(double value, double expected, double scale, const std::string& what) {
    CHECK_MESSAGE(std::abs(value - expected) <= 1e-5 * std::max({std::abs(expected), scale, 1e-3}), what, ": ", value,
                  " against ", expected);
}

/// Of updates [K][P].
InnerProducts products_of(const json& updates) {
    const auto values = updates.get<std::vector<std::vector<float>>>();
    const std::vector<ConstParamSpan> rows(values.begin(), values.end());
    return inner_products_of(rows, 0);
}

std::vector<float> weighted_sum(const json& updates, const Numbers& weights) {
    std::vector<double> sum(updates[0].size(), 0.0);
    for (std::size_t k = 0; k < updates.size(); ++k)
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += weights[k] * updates[k][i].get<double>();
    return {sum.begin(), sum.end()};
}

void check_place(const MethodFormulas& method, Place place, const Values& values, const json& expected,
                 const InnerProducts* products = nullptr) {
    Executor executor(method.of_vectors(place));
    executor.set_products(products);
    ClassFormulas by_class(method, place, kGoldenSizes);
    for (const auto& [name, value] : method.keys) executor.set(name, value);
    for (const auto& [name, value] : values.numbers) {
        executor.set(name, value);
        by_class.set(name, value.front());
    }
    std::size_t size = 0;
    const std::vector<std::string>& read = executor.program().vectors;
    for (const auto& [name, value] : values.vectors) {
        if (by_class.reads(name)) by_class.set(name, value);
        if (std::ranges::find(read, name) == read.end()) continue;
        executor.set(name, ConstParamSpan(value));
        size = value.size();
    }
    std::map<std::string, std::vector<float>> results;
    for (const std::string& name : executor.program().stored) {
        results[name].resize(size);
        executor.write_to(name, ParamSpan(results[name]));
    }
    executor.run(std::vector<ElementRange>{{0, size}});
    by_class.run();
    CHECK_EQ(executor.program().formulas.targets.size() + by_class.results().size(), expected.size());
    for (const auto& [name, found] : by_class.results()) results[name] = found;
    for (const auto& [name, value] : expected.items()) {
        if (results.contains(name)) {
            const std::vector<float> narrow = value[0].is_array() ? flat(value) : value.get<std::vector<float>>();
            const std::vector<double> all(narrow.begin(), narrow.end());
            REQUIRE_EQ(results[name].size(), all.size());
            const double scale =
                *std::max_element(all.begin(), all.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
            for (std::size_t i = 0; i < all.size(); ++i)
                check_near(static_cast<double>(results[name][i]), all[i], std::abs(scale), fmt::format("{}[{}]", name, i));
            continue;
        }
        const Numbers found = executor.numbers(name),
                      all = value.is_array() ? value.get<Numbers>() : Numbers{value.get<double>()};
        for (std::size_t k = 0; k < all.size(); ++k) check_near(found[found.size() == 1 ? 0 : k], all[k], 0.0, name);
    }
}

std::vector<float> values_of(const json& values) {
    return values[0].is_array() ? flat(values) : values.get<std::vector<float>>();
}

/// What other models give for the examples, from the first one on.
struct GoldenOthers {
    GoldenOthers(RowLoss& rows, const MethodFormulas& method, const json& examples) {
        for (const OtherAnswers& other : method.also_at) {
            rows.add_other(other.name, logits.size());
            logits.push_back(flat(examples[other.name + ".logits"]));
            features.push_back(flat(examples[other.name + ".z"]));
        }
    }
    const std::vector<RowAnswers>& from(std::size_t first) {
        given.clear();
        for (std::size_t i = 0; i < logits.size(); ++i)
            given.push_back(
                {logits[i].data() + first * kGoldenSizes.classes, features[i].data() + first * kGoldenSizes.features});
        return given;
    }

    std::vector<std::vector<float>> logits, features;
    std::vector<RowAnswers> given;
};

void set_numbers(RowLoss& rows, const MethodFormulas& method, const json& examples) {
    for (const auto& [name, value] :
         std::map<std::string, double>{{"lr", 0.0625}, {"round", 7}, {"n", 48}, {"step", 3}, {"steps", 6}})
        rows.set(name, value);
    for (const MethodMemory& memory : method.memories)
        if (memory.is_number() && examples.contains(memory.name)) rows.set(memory.name, examples[memory.name].get<double>());
}

/// The sums of a measure by class are the same for all batches; a number's are over all classes.
void check_measure(const MethodFormulas& method, const json& examples, const json& expected) {
    RowLoss rows(simplified(method.parsed(Place::Measure), method.keys), {kGoldenSizes.classes, kGoldenSizes.features});
    GoldenOthers others(rows, method, examples);
    set_numbers(rows, method, examples);
    rows.set_counts(values_of(examples["counts"]));
    const auto labels = examples["y"].get<std::vector<std::int64_t>>();
    std::vector<float> logits = flat(examples["logits"]), z = flat(examples["z"]);
    for (const std::size_t batch : {std::size_t{19}, std::size_t{7}}) {
        std::vector<std::vector<double>> sums;
        for (const Target& target : rows.formulas().targets) sums.emplace_back(kGoldenSizes.classes * rows.columns_of(target));
        for (std::size_t first = 0; first < labels.size(); first += batch)
            rows.add_by_class({.rows = std::min(batch, labels.size() - first),
                               .labels = labels.data() + first,
                               .logits = logits.data() + first * kGoldenSizes.classes,
                               .features = z.data() + first * kGoldenSizes.features,
                               .others = others.from(first)},
                              sums);
        for (std::size_t t = 0; t < sums.size(); ++t) {
            const json& given = expected.at(rows.formulas().targets[t].name);
            if (given.is_number()) {
                check_near(std::accumulate(sums[t].begin(), sums[t].end(), 0.0), given.get<double>(), 0.0,
                           rows.formulas().targets[t].name);
                continue;
            }
            const std::vector<float> all = values_of(given);
            REQUIRE_EQ(sums[t].size(), all.size());
            for (std::size_t i = 0; i < all.size(); ++i)
                check_near(sums[t][i], static_cast<double>(all[i]), 0.1,
                           fmt::format("{}[{}]", rows.formulas().targets[t].name, i));
        }
    }
}

/// The sum of all examples' losses, each example's loss by itself but for losses over a batch, and the gradients.
void check_loss(const MethodFormulas& method, const json& examples, const json& expected) {
    const std::size_t classes = examples["logits"][0].size(), features = examples["z"][0].size();
    const auto labels = examples["y"].get<std::vector<std::int64_t>>();
    RowLoss loss(simplified(method.parsed(Place::Loss), method.keys), {classes, features});
    GoldenOthers others(loss, method, examples);
    loss.set_counts(examples["counts"].get<std::vector<float>>());
    set_numbers(loss, method, examples);
    for (const MethodMemory& memory : method.memories)
        if (memory.is_by_class() && examples.contains(memory.name))
            loss.set_by_class(memory.name, values_of(examples[memory.name]));
    const auto run = [&](std::size_t first, std::size_t rows, std::vector<float>& logits, std::vector<float>& moved) {
        const std::vector<float> z = flat(examples["z"]);
        return loss.run({.rows = rows,
                         .labels = labels.data() + first,
                         .logits = logits.data() + first * classes,
                         .features = z.data() + first * features,
                         .features_gradient = loss.moves_features() ? moved.data() + first * features : nullptr,
                         .others = others.from(first)});
    };
    std::vector<float> logits = flat(examples["logits"]), moved(labels.size() * features, 0.0F);
    double sum = 0.0;
    for (std::size_t r = 0; r < labels.size(); ++r) {
        std::vector<float> alone = logits, moved_alone = moved;
        sum += expected["loss"][r].get<double>();
        if (!loss.is_over_batch())
            check_near(run(r, 1, alone, moved_alone), expected["loss"][r].get<double>(), 0.0, fmt::format("loss[{}]", r));
    }
    CHECK_EQ(run(0, labels.size(), logits, moved), doctest::Approx(sum).epsilon(1e-5));
    const auto check_gradient = [](const std::vector<float>& found, const json& rows, const char* name) {
        const std::vector<float> all = flat(rows);
        double scale = 0.0;
        for (const float value : all) scale = std::max(scale, std::abs(static_cast<double>(value)));
        for (std::size_t i = 0; i < all.size(); ++i)
            check_near(static_cast<double>(found[i]), static_cast<double>(all[i]), scale, fmt::format("{}[{}]", name, i));
    };
    check_gradient(logits, expected["logits"], "gradient to logits");
    check_gradient(moved, expected["z"], "gradient to z");
}

/// Answers and their cross-entropy are the same for all batches.
void check_answer(const MethodFormulas& method, const json& examples, const json& expected) {
    RowLoss rows(with_loss(simplified(method.parsed(Place::Answer), method.keys)),
                 {kGoldenSizes.classes, kGoldenSizes.features});
    GoldenOthers others(rows, method, examples);
    set_numbers(rows, method, examples);
    const auto labels = examples["y"].get<std::vector<std::int64_t>>();
    std::vector<float> logits = flat(examples["logits"]), z = flat(examples["z"]);
    const std::vector<float> all = flat(expected);
    const std::size_t classes = kGoldenSizes.classes;
    for (const std::size_t batch : {std::size_t{19}, std::size_t{7}}) {
        std::vector<float> answers(all.size()), losses(labels.size());
        for (std::size_t first = 0; first < labels.size(); first += batch)
            rows.answer({.rows = std::min(batch, labels.size() - first),
                         .labels = labels.data() + first,
                         .logits = logits.data() + first * classes,
                         .features = z.data() + first * kGoldenSizes.features,
                         .others = others.from(first)},
                        std::span(answers).subspan(first * classes), std::span(losses).subspan(first));
        for (std::size_t i = 0; i < all.size(); ++i)
            check_near(static_cast<double>(answers[i]), static_cast<double>(all[i]), 0.1, fmt::format("answer[{}]", i));
        for (std::size_t r = 0; r < labels.size(); ++r) {
            double powers = 0.0;
            for (std::size_t c = 0; c < classes; ++c) powers += std::exp(static_cast<double>(all[r * classes + c]));
            const double loss = std::log(powers) - static_cast<double>(all[r * classes + static_cast<std::size_t>(labels[r])]);
            check_near(static_cast<double>(losses[r]), loss, 0.1, fmt::format("loss[{}]", r));
        }
    }
}

TEST_SUITE("MethodGolden") {
    TEST_CASE("AnswersAreThoseOfTheFunctions") {
        std::size_t answers = 0;
        for (const auto& [name, one] : golden().items()) {
            if (!one["box"].contains("answer")) continue;
            CAPTURE(name);
            check_answer(method_of(one), one["inputs"]["examples"], one["expected"]["answer"]);
            ++answers;
        }
        CHECK(answers >= 1);
    }

    TEST_CASE("LossesAndTheirGradientsAreThoseOfThePapers") {
        std::size_t losses = 0;
        for (const auto& [name, one] : golden().items()) {
            if (!one["box"].contains("loss")) continue;
            CAPTURE(name);
            check_loss(method_of(one), one["inputs"]["examples"], one["expected"]["loss"]);
            ++losses;
        }
        CHECK(losses >= 7);
    }

    TEST_CASE("MeasuresSumWhatTheFunctionsGiveForEachExample") {
        std::size_t measures = 0;
        for (const auto& [name, one] : golden().items()) {
            if (!one["box"].contains("measure")) continue;
            CAPTURE(name);
            check_measure(method_of(one), one["inputs"]["examples"], one["expected"]["measure"]);
            ++measures;
        }
        CHECK(measures >= 3);
    }

    TEST_CASE("FormulasGiveWhatThePythonFunctionsGive") {
        REQUIRE(golden().size() >= 53);
        for (const auto& [name, one] : golden().items()) {
            CAPTURE(name);
            const MethodFormulas method = method_of(one);
            const json& inputs = one["inputs"];
            const json& expected = one["expected"];
            for (const Place place : {Place::Start, Place::Second, Place::Gradient, Place::After, Place::End, Place::Judge})
                if (method.has(place)) check_place(method, place, Values(inputs["client"]), expected[word_of(place)]);
            if (method.has(Place::Cohort)) {
                Values values(inputs["server"]);
                values.numbers.merge(Values(inputs["cohort"], "k.").numbers);
                const InnerProducts products = products_of(inputs["cohort"][one["box"].value("products_of", "u")]);
                check_place(method, Place::Cohort, values, expected["cohort"], &products);
            }
            if (method.has(Place::Mix)) {
                Values values(inputs["server"]);
                values.numbers.merge(Values(inputs["cohort"], "k.").numbers);
                const InnerProducts products = products_of(inputs["cohort"][one["box"].value("products_of", "u")]);
                check_place(method, Place::Peers, values, expected["peers"], &products);
                Values mixed(inputs["server"]);
                const json& weight = expected["peers"]["weight"];
                const auto weights =
                    weight.is_array() ? weight.get<Numbers>() : Numbers(inputs["cohort"]["u"].size(), weight.get<double>());
                mixed.vectors["u"] = weighted_sum(inputs["cohort"]["u"], weights);
                for (const auto& [number, value] : expected["peers"].items())
                    if (number != "weight") mixed.numbers[number] = {value.get<double>()};
                check_place(method, Place::Mix, mixed, expected["mix"]);
            }
            if (!method.has(Place::Server)) continue;
            Values values(inputs["server"]);
            values.vectors.merge(Values(expected["aggregates"]).vectors);
            if (expected.contains("cohort")) values.numbers.merge(Values(expected["cohort"]).numbers);
            check_place(method, Place::Server, values, expected["server"]);
        }
    }

    TEST_CASE("AMethodsTextIsReadBack") {
        for (const auto& [name, one] : golden().items()) {
            const MethodFormulas method = method_of(one);
            const std::string text = method.text();
            CHECK(text.size() < kLongestMethod);
            CHECK_EQ(MethodFormulas::of(text).text(), text);
        }
        CHECK_THROWS_AS(MethodFormulas::of("nowhere g = g\n"), Fault);
    }
}

}  // namespace
}  // namespace fedhive::aggregation::formulas
