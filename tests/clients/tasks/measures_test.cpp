// Measures from the sums of a pass over a client's examples.
#include "clients/tasks/measures.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

using namespace fedhive;
using namespace fedhive::clients;

namespace {

Reports reports_with(const std::vector<std::string>& names) {
    Reports reports;
    for (const std::string& name : names) reports.add(name);
    return reports;
}

}  // namespace

TEST_SUITE("Measures") {
    TEST_CASE("AreTheLossAndTheMetricsThatEveryRunOfATaskHas") {
        CHECK(measures_of(learning_task("classification")) == std::vector<std::string>{"loss", "accuracy", "gradient_norm"});
        CHECK(measures_of(learning_task("regression")) == std::vector<std::string>{"loss", "mse", "mae", "gradient_norm"});
        CHECK(measures_of(learning_task("next_token")) ==
              std::vector<std::string>{"loss", "accuracy", "perplexity", "gradient_norm"});
        CHECK(measure_names() == std::vector<std::string>{"loss", "accuracy", "gradient_norm", "mse", "mae", "perplexity"});
        for (const LearningTask& task : task_catalog())
            for (const std::string& measure : measures_of(task)) {
                const ReportSpec report = report_of_measure(task, measure);
                CHECK(report.name == "sent_" + measure);
                CHECK_FALSE(report.unit.empty());
                CHECK_FALSE(report.meaning.empty());
            }
        CHECK_THROWS_AS(report_of_measure(learning_task("regression"), "accuracy"), Fault);
    }

    TEST_CASE("DivideByTheExamplesThatCountAndLeaveOtherReportsAlone") {
        const LearningTask& task = learning_task("next_token");
        const Reports reports = reports_with({"sent_accuracy", "other", "sent_loss", "sent_perplexity"});
        CHECK(any_measured(reports));
        CHECK(measures_outputs(reports));
        CHECK_FALSE(place_of_gradient_norm(reports).has_value());
        CHECK_FALSE(any_measured(reports_with({"other"})));
        const Reports of_gradient = reports_with({"other", "sent_gradient_norm"});
        CHECK(any_measured(of_gradient));
        CHECK_FALSE(measures_outputs(of_gradient));
        CHECK(place_of_gradient_norm(of_gradient) == 1);
        EvaluationSums sums(SumsPlan::of("next_token", 4));
        // Three examples of four targets. Six of the twelve do not count, so one and a half examples do.
        sums.add_loss(3.0);
        sums.add_ignored(6);
        for (std::uint32_t target = 0; target < 6; ++target) sums.add({.label = 1, .predicted = target < 2 ? 1U : 2U});
        ReportValues values{};
        values[1] = 7.0;
        measure(sums, task, 3, 4, reports, values);
        CHECK(values[0] == 2.0 / 6.0);
        CHECK(values[1] == 7.0);
        CHECK(values[2] == 2.0);
        CHECK(values[3] == std::exp(2.0));
    }

    TEST_CASE("AreZeroWhereNoTargetCounts") {
        EvaluationSums sums(SumsPlan::of("classification", 4));
        sums.add_ignored(5);
        ReportValues values;
        values.fill(9.0);
        measure(sums, learning_task("classification"), 5, 1, reports_with({"sent_loss", "sent_accuracy"}), values);
        CHECK(values[0] == 0.0);
        CHECK(values[1] == 0.0);
        CHECK(values[2] == 9.0);
    }
}
