#include "clients/tasks/measures.h"

#include <fmt/format.h>

#include <algorithm>

namespace fedhive::clients {

namespace {

constexpr std::string_view kSent = "sent_";
constexpr std::string_view kLossMeasure = "loss";

bool is_measure(std::string_view report) { return report.starts_with(kSent); }
bool is_of_gradient(std::string_view report) { return is_measure(report) && report.substr(kSent.size()) == kGradientNorm; }
bool is_of_outputs(std::string_view report) { return is_measure(report) && !is_of_gradient(report); }

}  // namespace

std::vector<std::string> measures_of(const LearningTask& task) {
    std::vector<std::string> names{std::string(kLossMeasure)};
    for (const Metric& metric : task.metrics)
        if (!metric.is_asked_for() && metric.over_classes == 0) names.push_back(metric.name);
    names.emplace_back(kGradientNorm);
    return names;
}

std::vector<std::string> measure_names() {
    std::vector<std::string> names;
    for (const LearningTask& task : task_catalog())
        for (std::string& name : measures_of(task))
            if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    return names;
}

ReportSpec report_of_measure(const LearningTask& task, const std::string& measure) {
    const std::string behind =
        "of the model that the client was sent, on its training examples, before it trains; with `training.measure`; empty "
        "after a "
        "failure";
    const std::string name = std::string(kSent) + measure;
    if (measure == kLossMeasure) return {name, "as `train_loss`", "mean loss " + behind};
    if (measure == kGradientNorm) return {name, "as the gradient", "norm of the mean gradient of `training.loss`, " + behind};
    const Metric* metric = task.metric(measure);
    FEDHIVE_CHECK(metric != nullptr, "task '{}' has no measure '{}'", task.name, measure);
    return {name, "[metric](README.md#metrics)", fmt::format("{} {}", metric->meaning, behind)};
}

bool measures_outputs(const Reports& reports) {
    for (std::size_t i = 0; i < reports.size(); ++i)
        if (is_of_outputs(reports.name(i))) return true;
    return false;
}

std::optional<std::size_t> place_of_gradient_norm(const Reports& reports) {
    for (std::size_t i = 0; i < reports.size(); ++i)
        if (is_of_gradient(reports.name(i))) return i;
    return std::nullopt;
}

bool any_measured(const Reports& reports) { return measures_outputs(reports) || place_of_gradient_norm(reports).has_value(); }

void measure(const EvaluationSums& sums, const LearningTask& task, std::uint64_t examples, std::uint64_t targets,
             const Reports& reports, ReportValues& to) {
    const double counted = sums.counted_examples(examples, targets);
    for (std::size_t i = 0; i < reports.size(); ++i) {
        if (!is_of_outputs(reports.name(i))) continue;
        const std::string_view name = reports.name(i).substr(kSent.size());
        const Metric* metric = task.metric(name);
        FEDHIVE_CHECK(name == kLossMeasure || metric != nullptr, "task '{}' has no measure '{}'", task.name, name);
        if (counted == 0.0)
            to[i] = 0.0;
        else
            to[i] = metric != nullptr ? metric->of(sums, counted, static_cast<double>(targets)) : sums.loss() / counted;
    }
}

}  // namespace fedhive::clients
