#include "clients/worker/aggregate_task.h"

#include "aggregation/math/vector_ops.h"

namespace fedhive::clients {

void AggregateTask::run(const Task& task) {
    const aggregation::Arena& arena = worker_.arena;
    const std::uint64_t total = arena.geometry().num_floats;
    require(task.first <= total && task.count <= total - task.first, "last float");
    require(task.num_terms <= worker_.block.terms().size(), "last update");
    if (!rule_ || rule_->column_rule() != task.rule || rule_->column_number() != task.rule_number)
        rule_ = aggregation::make_aggregator(task.rule, task.rule_number);
    rule_->zero_init(task.count, arena.space());
    for (const Term& term : worker_.block.terms().first(task.num_terms))
        rule_->aggregate(
            {arena.slot(term.slot).part(task.first, task.count), term.position, term.scale, term.weight, term.clients});
    aggregation::copy(arena.aggregate().part(task.first, task.count), rule_->finish().values);
}

}  // namespace fedhive::clients
