#include "clients/worker/products_task.h"

#include "aggregation/math/gram.h"
#include "aggregation/math/sum_rows.h"

#include <vector>

namespace fedhive::clients {

namespace {

/// The sum of the earlier updates of the term's client; empty if there is none.
aggregation::ConstParamSpan history_of(const WorkerContext& worker, const Term& term) {
    require(term.client_id < worker.states.clients(), "client with a history");
    const aggregation::VisitMemories visit{
        .all = &worker.plan.memories, .region = {}, .record = worker.states.of(term.client_id), .slot = {}, .beside = {}};
    return visit.own(aggregation::kHistory);
}

}  // namespace

void take_products(const WorkerContext& worker, const Task& task) {
    const aggregation::Arena& arena = worker.arena;
    const std::uint64_t total = arena.geometry().num_floats;
    require(task.row_first <= total && task.first <= total - task.row_first &&
                task.count <= total - task.row_first - task.first && task.first % aggregation::kGramColumns == 0,
            "last float");
    require(task.num_terms >= 1 && task.num_terms <= worker.block.terms().size(), "last update");
    require(task.base < task.num_terms, "base");
    std::vector<aggregation::ConstParamSpan> updates;
    std::vector<aggregation::ConstParamSpan> kept;
    for (const Term& term : worker.block.terms().first(task.num_terms)) {
        updates.push_back(arena.slot(term.slot).part(task.row_first, total - task.row_first));
        kept.push_back(task.histories != 0 ? history_of(worker, term) : aggregation::ConstParamSpan());
        require(kept.back().size == 0 || task.first + task.count <= kept.back().size, "last float of a history");
    }
    aggregation::SumRows sums;
    const std::span<const float* const> rows = sums.columns(updates, kept, task.first, task.count);
    const std::uint64_t values = aggregation::gram_values(rows.size());
    const std::uint64_t at = task.first / aggregation::kGramColumns * values;
    const std::span<double> products = arena.products();
    require(at + values <= products.size(), "last product");
    aggregation::gram(rows, task.base, task.count, arena.space(), products.subspan(at, values));
    if (task.histories == 0) return;
    for (const Term& term : worker.block.terms().first(task.num_terms)) worker.states.release_pages(term.client_id);
}

}  // namespace fedhive::clients
