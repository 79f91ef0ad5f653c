// Losses of examples by formulas: values and gradients beside finite differences, bits on every processor, and what is refused.
#include "aggregation/formulas/row_loss.h"

#include "aggregation/formulas/method_formulas.h"
#include "aggregation/formulas/simplified.h"

#include "tests/aggregation/formulas/row_answers.h"
#include "tests/support/golden_messages.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace fedhive::aggregation::formulas {
namespace {

using namespace row_tests;

/// Losses that together have every operation.
const std::vector<std::string>& all_losses() {
    static const std::vector<std::string> losses = {
        "cross_entropy(logits, y)",
        "cross_entropy(logits, y) - mu * log_sigmoid((cos(z, sent.z) - cos(z, last.z)) / tau)",
        "cross_entropy(logits - mu * maximum(counts, 0.5)^minus, y)",
        "cross_entropy(where(counts > 0, logits, tau * logits), y)",
        "cross_entropy(logits, y) + mu * kl(log_softmax(where(one_hot(y), -1e9, sent.logits / tau)), "
        "log_softmax(where(one_hot(y), "
        "-1e9, logits / tau)))",
        "(1 - pick(softmax(logits), y))^odd * cross_entropy(logits, y)",
        "(1 - tau) * cross_entropy(logits, y) - tau * mean(log_softmax(logits))",
        "sum((z - sent.z)^2) + logsumexp(logits) - pick(logits, y) + max(logits) - min(logits) * 0.5",
        "norm(z) * tanh(mean(logits)) / (1 + exp(-sum(z))) + dot(z, last.z) * sqrt(1 + sum(logits * logits))",
        "sum(abs(z - 0.105)) + sum(sigmoid(logits)) + sum(relu(logits - 0.045)) + log(2 + tanh(mean(z))) - sum(-z)",
        "sum(minimum(logits, sent.logits - 0.015)) + sum(maximum(z, 0.015)) + sum(logits^3) + sum((logits + 9)^-2)",
        "sum(log_sigmoid(logits)) + sum(sign(z + 0.015) * floor((z + 0.015) / 0.3)) + sum((z > 0.195) * z) - n * mean(z) / 40 "
        "+ mean(-logits)",
        "cross_entropy(where(known, cos(z, P) / tau, -9), y) + mu * pick(known, y) * mean((z - pick(P, y))^2)",
        "dot(pick(F, y), log_softmax(logits)) + logsumexp(dot(logits, F) + dot(z, P)) - sum(known * norm(P) * logits) + "
        "max(cos(logits, F))",
        "where(y == 2, two, log_sigmoid(mu)) * sum(z / (2 + mean(logits)) * norm(sent.z)) + sum(exp(z)) * (9 % 7)",
    };
    return losses;
}

std::string refusal_of(const std::string& loss) {
    try {
        const MethodFormulas method = method_with(loss);
        static_cast<void>(method.parsed(Place::Loss));
    } catch (const FormulaError& error) {
        return error.what();
    }
    return "";
}

TEST_SUITE("RowLoss") {
    TEST_CASE("GradientsAreThoseOfTheValue") {
        for (const std::string& loss : all_losses()) {
            CAPTURE(loss);
            check_gradients(loss);
        }
    }

    TEST_CASE("TheBitsDependOnNoProcessorAndOnNoOtherExample") {
        for (const std::string& loss : all_losses()) {
            CAPTURE(loss);
            const Answers answers;
            const Answers::Result plain = check_processors(loss, answers);
            Answers last = answers;  // the last three examples alone
            for (auto* values : {&last.logits, &last.sent_logits, &last.last_logits})
                values->erase(values->begin(), values->end() - 3 * kClasses);
            for (auto* values : {&last.features, &last.sent_features, &last.last_features})
                values->erase(values->begin(), values->end() - 3 * kFeatures);
            last.labels.erase(last.labels.begin(), last.labels.end() - 3);
            const Answers::Result few = last.run(loss);
            CHECK(same_row_bits(few.logits, {plain.logits.end() - 3 * kClasses, plain.logits.end()}));
            CHECK(same_row_bits(few.features, {plain.features.end() - 3 * kFeatures, plain.features.end()}));
        }
    }

    TEST_CASE("AWeightScalesTheGradientAndARowWithoutALabelHasNone") {
        const std::string loss = "cross_entropy(logits, y) + dot(z, z)";
        Answers answers;
        const Answers::Result whole = answers.run(loss), quarter = answers.run(loss, nullptr, 0.25F);
        CHECK_EQ(whole.sum, quarter.sum);
        for (std::size_t i = 0; i < whole.logits.size(); ++i) CHECK_EQ(quarter.logits[i], 0.25F * whole.logits[i]);
        answers.labels[4] = -1;
        const Answers::Result without = answers.run(loss);
        CHECK(without.sum < whole.sum);
        for (std::size_t i = 0; i < whole.logits.size(); ++i)
            CHECK_EQ(without.logits[i], i / kClasses == 4 ? 0.0F : whole.logits[i]);
        for (std::size_t i = 0; i < whole.features.size(); ++i)
            CHECK_EQ(without.features[i], i / kFeatures == 4 ? 0.0F : whole.features[i]);
    }

    TEST_CASE("TablesThatAreNotSetAre0AndKeysTakeThemOut") {
        const Answers answers;
        RowLoss rows(simple("cross_entropy(logits, y) + sum(pick(P, y)) + sum(norm(F)) + pick(known, y)"),
                     {kClasses, kFeatures});
        Answers::Result found{0.0, answers.logits, {}};
        found.sum = rows.run({.rows = kExamples, .labels = answers.labels.data(), .logits = found.logits.data()});
        CHECK_EQ(found.sum, answers.run("cross_entropy(logits, y)").sum);
        CHECK(is_cross_entropy(simple("cross_entropy(logits, y) + zero * pick(known, y) * mean((z - pick(P, y))^2)")));
        CHECK_EQ(answers.run("sum(dot(zero * z, P)) + mean(logits)").sum, answers.run("mean(logits)").sum);
    }

    TEST_CASE("AMeasureIsSummedByTheLabelsThatCount") {
        MethodFormulas method;
        method.memories = {{.name = "L", .up = true, .shape = MemoryShape::Classes},
                           {.name = "Z", .up = true, .shape = MemoryShape::ClassesByFeatures}};
        method.lines[Place::Measure] = {"L = cross_entropy(logits, y)", "Z = z"};
        RowLoss rows(simplified(method.parsed(Place::Measure), {}), {kClasses, kFeatures});
        Answers answers;
        const auto sums_of = [&] {
            std::vector<std::vector<double>> sums{std::vector<double>(kClasses), std::vector<double>(kClasses * kFeatures)};
            const std::vector<float> before = answers.logits;
            rows.add_by_class({.rows = kExamples,
                               .labels = answers.labels.data(),
                               .logits = answers.logits.data(),
                               .features = answers.features.data()},
                              sums);
            CHECK(same_row_bits(before, answers.logits));
            return sums;
        };
        const auto whole = sums_of();
        double total = 0.0, last = 0.0;
        for (const double sum : whole[0]) total += sum;
        CHECK_EQ(total, doctest::Approx(answers.run("cross_entropy(logits, y)").sum));
        for (std::size_t r = 0; r < kExamples; ++r)
            if (answers.labels[r] == 2) last += static_cast<double>(answers.features[r * kFeatures + 6]);
        CHECK_EQ(whole[1][2 * kFeatures + 6], last);
        const auto label = static_cast<std::size_t>(answers.labels[4]);
        answers.labels[4] = -1;
        CHECK_EQ(sums_of()[1][label * kFeatures],
                 whole[1][label * kFeatures] - static_cast<double>(answers.features[4 * kFeatures]));
    }

    TEST_CASE("EqualFeaturesHaveAGradient") {
        // MOON's first step: all models are one, so the sigmoid's argument is 0, where its slope is 1/2.
        Answers answers;
        answers.last_features = answers.sent_features;
        const Answers::Result found = answers.run("-log_sigmoid(cos(z, sent.z) - cos(z, last.z) + sum(z) * 1)");
        CHECK(std::ranges::any_of(found.features, [](float value) { return value != 0.0F; }));
        std::fill(answers.features.begin(), answers.features.end(), 0.0F);  // as behind a ReLU
        const Answers::Result zero = answers.run("cos(z, sent.z)");
        CHECK_EQ(zero.sum, 0.0);
        CHECK(std::ranges::all_of(zero.features, [](float value) { return std::isfinite(value); }));
    }

    TEST_CASE("KeysThatTakeATermOutLeaveTheCrossEntropy") {
        for (const std::string loss :
             {"cross_entropy(logits, y) - zero * log_sigmoid(cos(z, sent.z))", "cross_entropy(logits - zero * counts^minus, y)",
              "cross_entropy(where(counts > 0, logits, one * logits), y)",
              "(1 - zero) * cross_entropy(logits, y) - zero * mean(log_softmax(logits))",
              "(1 - pick(softmax(logits), y))^zero * cross_entropy(logits, y)",
              "one * cross_entropy(logits / one, y) + zero / two", "-pick(log_softmax(logits), y)",
              "cross_entropy(logits, y) + sum(zero * z) + norm(zero * z)"}) {
            CAPTURE(loss);
            const Formulas formulas = simple(loss);
            CHECK(is_cross_entropy(formulas));
            CHECK_FALSE(formulas.reads("sent.z"));
        }
        for (const std::string loss :
             {"cross_entropy(logits - mu, y)", "cross_entropy(sent.logits, y)", "-cross_entropy(logits, y)",
              "cross_entropy(logits, y) + mu", "logsumexp(zero * logits)", "pick(logits, y)"}) {
            CAPTURE(loss);
            CHECK_FALSE(is_cross_entropy(simple(loss)));
        }
        const Answers answers;
        CHECK_EQ(answers.run("logsumexp(zero * logits)").sum, doctest::Approx(kExamples * std::log(5.0)));
        CHECK_EQ(answers.run("mean(zero * logits + mu)").sum, doctest::Approx(kExamples * 0.75));
    }

    TEST_CASE("WhatIsNoLossOfAnExampleIsRefused") {
        for (const char* loss : {"logits",
                                 "z",
                                 "sum(z * logits)",
                                 "cos(z, logits)",
                                 "cross_entropy(z, y)",
                                 "cross_entropy(logits, mu)",
                                 "one_hot(mu)",
                                 "norm(y)",
                                 "sum(mu)",
                                 "sum(2^logits)",
                                 "sum(logits % 2)",
                                 "sum(P)",
                                 "cross_entropy(P, y)",
                                 "sum(z * P)",
                                 "dot(P, z)",
                                 "dot(logits, P)",
                                 "sum(cos(z, F))",
                                 "norm(pick(P, mu))",
                                 "norm(P)",
                                 "sum(pick(P, y) * logits)",
                                 "sum(g)",
                                 "sum(k.n)",
                                 "batch_mean(mu)",
                                 "batch_square(y)",
                                 "sum(batch_mean(P))",
                                 "batch_mean(z)",
                                 "entropy(logits)",
                                 "sum(logits, z)"})
            CHECK_MESSAGE_IS("aggregation", loss, refusal_of(loss));
        CHECK(refusal_of("cross_entropy(logits, y)").empty());
        MethodFormulas measure = method_with("mean(logits)");
        measure.memories[0].up = true;
        measure.lines[Place::Measure] = {"P = batch_mean(z)"};
        CHECK_THROWS_WITH_AS(static_cast<void>(measure.parsed(Place::Measure)),
                             "batch_mean is of the examples of a batch; it is allowed only in `loss`", FormulaError);
    }
}

}  // namespace
}  // namespace fedhive::aggregation::formulas
