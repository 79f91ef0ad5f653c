// Functions over the examples of a batch in losses by formulas: gradients beside finite differences, bits, who is in a batch.
#include "tests/aggregation/formulas/row_answers.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fedhive::aggregation::formulas {
namespace {

using namespace row_tests;

/// Losses over the examples of a batch: each function of each shape, one in the other, beside tables and other models.
const std::vector<std::string>& batch_losses() {
    static const std::vector<std::string> losses = {
        "cross_entropy(logits, y) + mu * batch_mean(batch_square((z - batch_mean(z)) / sqrt(batch_mean((z - batch_mean(z))^2) "
        "+ "
        "0.01)))",
        "cross_entropy(logits, y) + mu * norm(batch_mean(z - sent.z) - pick(P, y))",
        "cross_entropy(logits, y)^2 / (1 + batch_mean(cross_entropy(logits, y)))",
        "batch_square(logits) * pick(logits, y) + batch_square(z) * sum(tanh(z))",
        "sum((z - batch_mean(z))^3) + sum(batch_mean(logits) * logits) + sum(batch_mean(counts * pick(known, y)))",
    };
    return losses;
}

}  // namespace

TEST_SUITE("RowBatch") {
    TEST_CASE("GradientsOverABatchAreThoseOfTheSumOfLosses") {
        for (const std::string& loss : batch_losses()) {
            CAPTURE(loss);
            check_gradients(loss);
        }
    }

    TEST_CASE("FunctionsOverABatchHaveTheSameBitsOnEveryProcessorAndAgain") {
        for (const std::string& loss : batch_losses()) {
            CAPTURE(loss);
            check_processors(loss, Answers());
        }
    }

    TEST_CASE("ABatchIsTheExamplesThatCount") {
        for (const std::string& loss : batch_losses()) {
            CAPTURE(loss);
            Answers with, without;
            with.labels[4] = -1;
            for (auto* values : {&without.logits, &without.sent_logits, &without.last_logits})
                values->erase(values->begin() + 4 * kClasses, values->begin() + 5 * kClasses);
            for (auto* values : {&without.features, &without.sent_features, &without.last_features})
                values->erase(values->begin() + 4 * kFeatures, values->begin() + 5 * kFeatures);
            without.labels.erase(without.labels.begin() + 4);
            Answers::Result ignored = with.run(loss);
            const Answers::Result fewer = without.run(loss);
            CHECK_EQ(ignored.sum, fewer.sum);
            CHECK(ignored.sum != Answers().run(loss).sum);
            for (std::size_t c = 0; c < kClasses; ++c) CHECK_EQ(ignored.logits[4 * kClasses + c], 0.0F);
            ignored.logits.erase(ignored.logits.begin() + 4 * kClasses, ignored.logits.begin() + 5 * kClasses);
            CHECK(same_row_bits(ignored.logits, fewer.logits));
        }
    }

    TEST_CASE("OneLossServesBatchesOfEverySizeAndNewNumbers") {
        const Answers answers;
        const std::string loss = "cross_entropy(logits, y) + mu * batch_square(z - batch_mean(z)) * n";
        RowLoss one(simple(loss), {kClasses, kFeatures});
        const auto run_first = [&](RowLoss& rows, std::size_t count, double n) {
            rows.set("n", n);
            Answers::Result result{
                0.0,
                {answers.logits.begin(), answers.logits.begin() + static_cast<std::ptrdiff_t>(count * kClasses)},
                std::vector<float>(count * kFeatures)};
            result.sum = rows.run({.rows = count,
                                   .labels = answers.labels.data(),
                                   .logits = result.logits.data(),
                                   .features = answers.features.data(),
                                   .features_gradient = result.features.data()});
            return result;
        };
        for (const auto& [count, n] : {std::pair<std::size_t, double>{3, 2.0}, {19, 3.0}, {17, 3.0}, {1, 4.0}, {19, 5.0}}) {
            RowLoss fresh(simple(loss), {kClasses, kFeatures});
            const Answers::Result found = run_first(one, count, n), expected = run_first(fresh, count, n);
            CHECK_EQ(found.sum, expected.sum);
            CHECK(same_row_bits(found.features, expected.features));
        }
    }

    TEST_CASE("CorrelationsOfAStandardBatchAreTheMeanOfItsSquares") {
        // Two columns a and 2a + 1 are fully correlated, a third is not: |K|² = 4 + 1 + what is left of the third.
        RowLoss rows(simple("cross_entropy(logits, y) * 0 + mean(logits) * 0 + batch_mean(batch_square((z - batch_mean(z)) / "
                            "sqrt(batch_mean((z - batch_mean(z))^2))))"),
                     {2, 3});
        const std::vector<float> features{1, 3, 1, -1, -1, 1, 1, 3, -1, -1, -1, -1};
        const std::vector<std::int64_t> labels{0, 1, 0, 1};
        std::vector<float> logits(8, 0.5F), gradient(12);
        const double sum = rows.run({.rows = 4,
                                     .labels = labels.data(),
                                     .logits = logits.data(),
                                     .features = features.data(),
                                     .features_gradient = gradient.data()});
        CHECK_EQ(sum / 4.0, doctest::Approx(5.0 / 9.0));
    }
}

}  // namespace fedhive::aggregation::formulas
