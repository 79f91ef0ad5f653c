#include "clients/tasks/evaluation_sums.h"

#include "aggregation/base/error.h"
#include "clients/tasks/learning_task.h"

#include <algorithm>

namespace fedhive::clients {

namespace {

const std::vector<Sum>& sums_of(const SumsPlan& plan) {
    FEDHIVE_CHECK(plan.task < task_catalog().size(), "task {} of {}", plan.task, task_catalog().size());
    return task_catalog()[plan.task].sums;
}

template <typename Wanted>
SumsPlan chosen_of(SumsPlan plan, const Wanted& wanted) {
    const std::vector<Sum>& sums = sums_of(plan);
    plan.chosen = 0;
    for (std::size_t i = 0; i < sums.size(); ++i)
        if (wanted(i, sums[i])) plan.chosen |= 1U << i;
    return plan;
}

}  // namespace

SumsPlan SumsPlan::of(std::string_view task_name, std::int64_t classes, std::span<const std::string> needed) {
    const auto& catalog = task_catalog();
    const auto found = std::ranges::find(catalog, task_name, &LearningTask::name);
    FEDHIVE_CHECK(found != catalog.end(), "no task '{}'", task_name);
    const SumsPlan plan{static_cast<std::uint32_t>(found - catalog.begin()), static_cast<std::uint32_t>(classes), 0};
    return chosen_of(plan, [&](std::size_t, const Sum& sum) {
        return sum.shape == SumShape::One || std::ranges::find(needed, sum.name) != needed.end();
    });
}

SumsPlan SumsPlan::of_client() const {
    return chosen_of(*this, [&](std::size_t i, const Sum& sum) { return has(i) && sum.shape != SumShape::Pairs; });
}

std::uint64_t SumsPlan::size() const { return EvaluationSums(*this).values().size(); }

EvaluationSums::EvaluationSums(const SumsPlan& plan) : classes_(plan.classes) {
    std::uint64_t size = kIgnoredTargets + 1;
    const std::vector<Sum>& sums = sums_of(plan);
    for (std::size_t i = 0; i < sums.size(); ++i) {
        const std::uint64_t values = plan.has(i) ? sums[i].size(plan.classes) : 0;
        if (values == 0) continue;
        parts_.push_back({sums[i].name, size, values, sums[i].add});
        size += values;
    }
    values_.resize(size);
}

void EvaluationSums::add(std::span<const double> values) {
    FEDHIVE_CHECK_EQ(values.size(), values_.size());
    for (std::size_t i = 0; i < values.size(); ++i) values_[i] += values[i];
}

std::span<const double> EvaluationSums::of(std::string_view sum) const {
    const auto found = std::ranges::find(parts_, sum, &Part::name);
    FEDHIVE_CHECK(found != parts_.end(), "no sum '{}'", sum);
    return std::span(values_).subspan(found->first, found->size);
}

}  // namespace fedhive::clients
