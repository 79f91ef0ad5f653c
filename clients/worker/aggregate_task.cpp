#include "clients/worker/aggregate_task.h"

#include "aggregation/math/vector_ops.h"

#include <span>

namespace fedhive::clients {

aggregation::Groups AggregateTask::groups_of(const Task& task) const {
    std::span<const std::uint32_t> table = worker_.block.groups();
    aggregation::Groups groups;
    for (std::uint32_t g = 0; g < task.num_groups; ++g) {
        require(!table.empty() && table.front() >= 1 && table.front() < table.size(), "last group");
        const std::span<const std::uint32_t> indices = table.subspan(1, table.front());
        for (const std::uint32_t k : indices) require(k < task.num_terms, "group's update");
        groups.emplace_back(indices.begin(), indices.end());
        table = table.subspan(1 + indices.size());
    }
    return groups;
}

aggregation::Aggregator& AggregateTask::rule_of(const Task& task) {
    const auto is_known = [&](const aggregation::Aggregator* rule) {
        return rule != nullptr && rule->column_rule() == task.rule && rule->column_number() == task.rule_number;
    };
    if (task.num_groups == 0) {
        if (!is_known(rule_.get())) rule_ = aggregation::make_aggregator(task.rule, task.rule_number);
        return *rule_;
    }
    if (!is_known(of_groups_.get()))
        of_groups_ = std::make_unique<aggregation::GroupMeans>(aggregation::make_aggregator(task.rule, task.rule_number));
    of_groups_->set_groups(groups_of(task));
    return *of_groups_;
}

void AggregateTask::run(const Task& task) {
    const aggregation::Arena& arena = worker_.arena;
    const std::uint64_t total = arena.geometry().num_floats;
    require(task.first <= total && task.count <= total - task.first, "last float");
    require(task.num_terms <= worker_.block.terms().size(), "last update");
    aggregation::Aggregator& rule = rule_of(task);
    rule.zero_init(task.count, arena.space());
    for (const Term& term : worker_.block.terms().first(task.num_terms))
        rule.aggregate(
            {arena.slot(term.slot).part(task.first, task.count), term.position, term.scale, term.weight, term.clients});
    aggregation::copy(arena.aggregate().part(task.first, task.count), rule.finish().values);
}

}  // namespace fedhive::clients
