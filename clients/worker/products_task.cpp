#include "clients/worker/products_task.h"

#include "aggregation/math/gram.h"

#include <vector>

namespace fedhive::clients {

void take_products(const WorkerContext& worker, const Task& task) {
    const aggregation::Arena& arena = worker.arena;
    const std::uint64_t total = arena.geometry().num_floats;
    require(task.first <= total && task.count <= total - task.first && task.first % aggregation::kGramColumns == 0,
            "last float");
    require(task.num_terms >= 1 && task.num_terms <= worker.block.terms().size(), "last update");
    require(task.base < task.num_terms, "base");
    std::vector<const float*> rows;
    for (const Term& term : worker.block.terms().first(task.num_terms)) rows.push_back(arena.slot(term.slot).data + task.first);
    const std::uint64_t values = aggregation::gram_values(rows.size());
    const std::uint64_t at = task.first / aggregation::kGramColumns * values;
    const std::span<double> products = arena.products();
    require(at + values <= products.size(), "last product");
    aggregation::gram(rows, task.base, task.count, arena.space(), products.subspan(at, values));
}

}  // namespace fedhive::clients
