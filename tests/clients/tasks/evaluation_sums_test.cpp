// Sums of an evaluation: what each adds, and how they travel.
#include "clients/tasks/evaluation_sums.h"
#include "aggregation/base/error.h"
#include "clients/tasks/learning_task.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

using namespace fedhive;
using namespace fedhive::clients;

TEST_SUITE("EvaluationSums") {
    TEST_CASE("OutcomeRanksAsArgmaxDoes") {
        const std::vector<float> scores{2.0F, 5.0F, 5.0F, 1.0F};
        const std::vector<std::uint32_t> ahead{2, 0, 1, 3};
        for (std::uint32_t label = 0; label < 4; ++label) {
            const TargetOutcome outcome = class_outcome(scores.data(), 4, label);
            CHECK(outcome.label == label);
            CHECK(outcome.predicted == 1);
            CHECK(outcome.ahead == ahead[label]);
        }
        const std::vector<float> lost{2.0F, NAN, 5.0F};
        CHECK(class_outcome(lost.data(), 3, 2).predicted == 1);
        CHECK(class_outcome(lost.data(), 3, 2).ahead == 1);
        CHECK(class_outcome(lost.data(), 3, 1).ahead == 3);  // of a score that is no number
    }

    TEST_CASE("PartsAddUpByIndex") {
        const SumsPlan plan = SumsPlan::of("classification", 10);
        EvaluationSums one(plan), other(plan), all(plan);
        one.add_loss(1.5);
        one.add({.label = 3, .predicted = 3});
        other.add_loss(0.25);
        other.add_ignored(2);
        other.add({.label = 3, .predicted = 4, .ahead = 4});
        other.add({.label = 3, .predicted = 4, .ahead = 5});
        all.add(one.values());
        all.add(other.values());
        CHECK(all.loss() == 1.75);
        CHECK(all.ignored() == 2.0);
        CHECK(all.one("correct") == 1.0);
        CHECK(all.one("among_five") == 2.0);
        CHECK_THROWS_AS(all.of("absolute"), Fault);
        CHECK_THROWS_AS(all.add(std::vector<double>(3)), Fault);
    }

    TEST_CASE("EveryMetricOfATaskFindsItsSums") {
        for (const LearningTask& task : task_catalog())
            for (const Metric& metric : task.metrics) {
                EvaluationSums sums(SumsPlan::of(task.name, 6, metric.needs));
                sums.add_loss(3.0);
                sums.add({.label = 1, .predicted = 1, .absolute = 0.5});
                CHECK(std::isfinite(metric.of(sums, 4.0, 1.0)));
            }
    }

    // Labels 0 0 0 0 1 1 2, predicted 0 0 0 1 1 0 4, of five classes. By hand, as sklearn.metrics has it: recalls 3/4, 1/2, 0;
    // F1 of the classes that occur: 6/8, 2/4, 0 and 0.
    TEST_CASE("MetricsByClassAreThoseOfScikitLearn") {
        const Metric &balanced = *learning_task("classification").metric("balanced_accuracy"),
                     &f1 = *learning_task("classification").metric("macro_f1");
        EvaluationSums sums(SumsPlan::of("classification", 5, f1.needs));
        const std::vector<std::uint32_t> labels{0, 0, 0, 0, 1, 1, 2}, predicted{0, 0, 0, 1, 1, 0, 4};
        for (std::size_t i = 0; i < labels.size(); ++i) sums.add({.label = labels[i], .predicted = predicted[i]});
        CHECK(balanced.of(sums, 7.0, 1.0) == doctest::Approx((0.75 + 0.5 + 0.0) / 3.0));
        CHECK(f1.of(sums, 7.0, 1.0) == doctest::Approx((0.75 + 0.5 + 0.0 + 0.0) / 4.0));
    }

    TEST_CASE("ClientsHaveNoSumsOverPairs") {
        const std::vector<std::string> needed{"confusion", "labels_by_class"};
        const SumsPlan plan = SumsPlan::of("classification", 5, needed);
        CHECK(plan.size() == 2 + 2 + 5 + 25);
        CHECK(plan.of_client().size() == 2 + 2 + 5);
        EvaluationSums sums(plan);
        sums.add({.label = 1, .predicted = 3});
        CHECK(sums.of("confusion")[1 * 5 + 3] == 1.0);
    }
}
