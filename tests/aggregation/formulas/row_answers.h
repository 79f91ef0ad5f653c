// Examples with logits, features and other models' answers, for tests of losses by formulas, and their gradients by differences.
#pragma once

#include "aggregation/formulas/method_formulas.h"
#include "aggregation/formulas/row_loss.h"
#include "aggregation/formulas/simplified.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

namespace fedhive::aggregation::formulas::row_tests {

inline constexpr std::size_t kClasses = 5, kFeatures = 7, kExamples = 19;

inline MethodFormulas method_with(const std::string& loss) {
    MethodFormulas method;
    method.keys = {{"mu", 0.75}, {"tau", 0.5}, {"zero", 0.0}, {"one", 1.0}, {"two", 2.0}, {"minus", -0.25}, {"odd", 2.5}};
    method.also_at = {{"sent", "w_t"}, {"last", "kept"}};
    method.memories = {{.name = "P", .owner = MemoryOwner::Client, .shape = MemoryShape::ClassesByFeatures},
                       {.name = "F", .owner = MemoryOwner::Server, .down = true, .shape = MemoryShape::ClassesByClasses},
                       {.name = "known", .owner = MemoryOwner::Server, .down = true, .shape = MemoryShape::Classes}};
    method.lines[Place::Loss] = {"loss = " + loss};
    return method;
}

inline Formulas simple(const std::string& loss) {
    const MethodFormulas method = method_with(loss);
    return simplified(method.parsed(Place::Loss), method.keys);
}

/// Logits, features and labels of some examples, and what other models give for them.
struct Answers {
    Answers() {
        const auto fill = [](std::vector<float>& values, std::size_t size, int salt) {
            for (std::size_t i = 0; i < size; ++i)
                values.push_back(
                    0.03F * static_cast<float>(static_cast<int>((i * 37 + static_cast<std::size_t>(salt) * 53) % 101) - 50));
        };
        fill(logits, kExamples * kClasses, 1);
        fill(features, kExamples * kFeatures, 2);
        fill(sent_logits, kExamples * kClasses, 3);
        fill(sent_features, kExamples * kFeatures, 4);
        fill(last_logits, kExamples * kClasses, 5);
        fill(last_features, kExamples * kFeatures, 6);
        fill(table_of_features, kClasses * kFeatures, 7);
        fill(table_of_logits, kClasses * kClasses, 8);
        for (std::size_t r = 0; r < kExamples; ++r) labels.push_back(static_cast<std::int64_t>((r * 3) % kClasses));
        for (std::size_t c = 0; c < kClasses; ++c) counts.push_back(c == 3 ? 0.0F : static_cast<float>(4 + 9 * c));
    }

    struct Result {
        double sum = 0.0;
        std::vector<float> logits, features;  // gradients
    };
    Result run(const std::string& loss, const RowLoops* loops = nullptr, float weight = 1.0F) const {
        RowLoss rows(simple(loss), {kClasses, kFeatures}, loops);
        rows.add_other("sent", 0);
        rows.add_other("last", 1);
        rows.set_counts(counts);
        rows.set_by_class("P", table_of_features);
        rows.set_by_class("F", table_of_logits);
        rows.set_by_class("known", known);
        rows.set("n", 40.0);
        Result result{0.0, logits, std::vector<float>(features.size(), 9.0F)};
        const std::array others{RowAnswers{sent_logits.data(), sent_features.data()},
                                RowAnswers{last_logits.data(), last_features.data()}};
        result.sum = rows.run({.rows = labels.size(),
                               .labels = labels.data(),
                               .logits = result.logits.data(),
                               .features = features.data(),
                               .features_gradient = rows.moves_features() ? result.features.data() : nullptr,
                               .others = others,
                               .weight = weight});
        if (!rows.moves_features()) result.features.assign(features.size(), 0.0F);
        return result;
    }

    std::vector<float> logits, features, sent_logits, sent_features, last_logits, last_features, counts;
    std::vector<float> table_of_features, table_of_logits, known{1.0F, 0.0F, 1.0F, 1.0F, 0.0F};
    std::vector<std::int64_t> labels;
};

inline bool same_row_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// The gradient to `values`, an array of `answers`, by central differences.
inline std::vector<double> differences(const std::string& loss, Answers& answers, std::vector<float>& values) {
    constexpr float kStep = 1.0F / 128.0F;
    std::vector<double> gradient;
    for (float& value : values) {
        const float before = value;
        value = before + kStep;
        const double above = answers.run(loss).sum;
        value = before - kStep;
        const double below = answers.run(loss).sum;
        gradient.push_back((above - below) / (2.0 * static_cast<double>(kStep)));
        value = before;
    }
    return gradient;
}

inline void check_gradient(const std::vector<float>& found, const std::vector<double>& expected, const std::string& what) {
    double largest = 0.0, apart = 0.0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        largest = std::max(largest, std::abs(expected[i]));
        apart = std::max(apart, std::abs(expected[i] - static_cast<double>(found[i])));
    }
    CHECK_MESSAGE(apart <= 4e-3 * std::max(largest, 0.05), what, ": ", apart, " apart of ", largest);
}

/// Checks that the gradients of `loss` are those of its value.
inline void check_gradients(const std::string& loss) {
    Answers answers;
    const Answers::Result found = answers.run(loss);
    REQUIRE(std::isfinite(found.sum));
    check_gradient(found.logits, differences(loss, answers, answers.logits), "logits");
    check_gradient(found.features, differences(loss, answers, answers.features), "features");
}

/// That `loss` has the same bits with the loops of every kind of processor. Returns them.
inline Answers::Result check_processors(const std::string& loss, const Answers& answers) {
    Answers::Result plain = answers.run(loss, row_loops_by_name("plain"));
    for (const char* name : {"avx2", "avx512"}) {
        const RowLoops* loops = row_loops_by_name(name);
        if (loops == nullptr) {
            MESSAGE("this processor has no ", std::string(name));
            continue;
        }
        const Answers::Result other = answers.run(loss, loops);
        CHECK_EQ(other.sum, plain.sum);
        CHECK(same_row_bits(other.logits, plain.logits));
        CHECK(same_row_bits(other.features, plain.features));
    }
    return plain;
}

}  // namespace fedhive::aggregation::formulas::row_tests
