// Losses of one target, against their formulas in double and against finite differences.
#include "aggregation/base/random.h"
#include "clients/tasks/learning_task.h"
#include "clients/tasks/loss.h"
#include "clients/tasks/losses/class_loss.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

using namespace fedhive;
using namespace fedhive::clients;

namespace {

constexpr std::uint32_t kClasses = 7;
constexpr float kWeight = 0.25F;

const std::vector<float>& some_weights() {
    static const std::vector<float> weights{1.0F, 0.5F, 2.0F, 0.0F, 3.0F, 1.0F, 0.25F};
    return weights;
}

std::vector<LossTerms> terms_of_classes() {
    return {{},
            {.smoothing = 0.1F},
            {.class_weights = some_weights().data()},
            {.smoothing = 0.3F, .class_weights = some_weights().data()},
            {.kind = LossKind::Focal, .gamma = 0.0F},
            {.kind = LossKind::Focal, .gamma = 2.0F},
            {.kind = LossKind::Focal, .gamma = 0.5F, .class_weights = some_weights().data()}};
}

/// The formulas as the papers have them.
double in_double(const std::vector<double>& scores, std::uint32_t label, const LossTerms& terms) {
    double total = 0.0;
    for (const double score : scores) total += std::exp(score);
    const auto log_p = [&](std::uint32_t c) { return scores[c] - std::log(total); };
    const auto weight = [&](std::uint32_t c) { return static_cast<double>(terms.weight_of(c)); };
    if (terms.kind == LossKind::Focal)
        return -weight(label) * std::pow(1.0 - std::exp(log_p(label)), static_cast<double>(terms.gamma)) * log_p(label);
    const auto smoothing = static_cast<double>(terms.smoothing);
    double loss = -(1.0 - smoothing) * weight(label) * log_p(label);
    for (std::uint32_t c = 0; c < scores.size(); ++c)
        loss -= smoothing / static_cast<double>(scores.size()) * weight(c) * log_p(c);
    return loss;
}

std::vector<float> drawn_scores(Stream& stream) {
    std::vector<float> scores(kClasses);
    for (float& score : scores) score = static_cast<float>(3.0 * stream.normal());
    return scores;
}

}  // namespace

TEST_SUITE("Losses") {
    TEST_CASE("LossAndGradientAreThoseOfTheFormula") {
        Stream stream(5, Purpose::ModelInit);
        for (const LossTerms& terms : terms_of_classes())
            for (std::uint32_t label = 0; label < kClasses; ++label) {
                const std::vector<float> scores = drawn_scores(stream);
                const std::vector<double> exact(scores.begin(), scores.end());
                std::vector<float> gradient = scores;
                const double loss = class_loss(gradient.data(), kClasses, label, kWeight, terms);
                CHECK(loss == doctest::Approx(in_double(exact, label, terms)).epsilon(1e-6));
                for (std::uint32_t c = 0; c < kClasses; ++c) {
                    constexpr double kStep = 1e-5;
                    std::vector<double> above = exact, below = exact;
                    above[c] += kStep;
                    below[c] -= kStep;
                    const double slope = (in_double(above, label, terms) - in_double(below, label, terms)) / (2.0 * kStep);
                    CHECK(static_cast<double>(gradient[c]) ==
                          doctest::Approx(static_cast<double>(kWeight) * slope).epsilon(1e-5).scale(0.1));
                }
            }
    }

    TEST_CASE("CertainAnswerHasNoLossAndNoGradient") {
        for (const LossTerms& terms : {LossTerms{}, LossTerms{.kind = LossKind::Focal, .gamma = 0.5F}}) {
            std::vector<float> scores{200.0F, 0.0F, -5.0F};
            CHECK(class_loss(scores.data(), 3, 0, 1.0F, terms) == 0.0);
            for (const float value : scores) CHECK(value == 0.0F);
        }
    }

    TEST_CASE("RowOfWeightZeroIsNotLookedAt") {
        std::vector<float> scores{1.0F, 2.0F, 3.0F, 4.0F};
        const std::vector<std::int64_t> classes{-100, 1};
        const std::vector<float> weights{0.0F, 0.5F};
        std::vector<float> losses(2, 7.0F);
        const RowLosses rows{scores.data(), classes.data(), weights.data(), losses.data(), 2, 2, {}};
        weighted_row(rows, 0);
        weighted_row(rows, 1);
        CHECK(losses[0] == 0.0F);
        CHECK(scores[0] == 0.0F);
        CHECK(scores[1] == 0.0F);
        CHECK(losses[1] == doctest::Approx(0.5 * std::log(1.0 + std::exp(-1.0))).epsilon(1e-6));
    }

    TEST_CASE("NotANumberIsNotLost") {
        for (const LossTerms& terms : terms_of_classes()) {
            std::vector<float> scores(kClasses, 1.0F);
            scores[2] = NAN;
            CHECK_FALSE(std::isfinite(class_loss(scores.data(), kClasses, 1, 1.0F, terms)));
        }
    }

    TEST_CASE("BalancedWeightsAreInverseToTheExamplesOfAClass") {
        LossPlan plan;
        const Values values{{"class_weights", std::vector<double>{}}, {"balanced", true}};
        set_class_weights(plan, values, std::vector<std::uint64_t>{10, 30, 0, 40});
        REQUIRE(plan.num_weights == 4);
        CHECK(plan.class_weights[0] == 2.0F);
        CHECK(plan.class_weights[1] == doctest::Approx(80.0 / 120.0));
        CHECK(plan.class_weights[2] == 0.0F);
        CHECK(plan.class_weights[3] == 0.5F);
        CHECK_FALSE(plan.terms_on_host().is_plain());
    }

    TEST_CASE("EveryTaskHasALossOfItsOwn") {
        for (const LearningTask& task : task_catalog()) {
            REQUIRE_FALSE(task.losses.empty());
            const LossSpec& own = loss_spec(task.losses.front());
            CHECK(own.build(completed({}, own.keys)).terms_on_host().is_plain());
        }
    }
}
