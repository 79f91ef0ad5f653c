#include "clients/visit/measure_pass.h"

#include "clients/tasks/measures.h"

#include <algorithm>

namespace fedhive::clients {

EvaluationSums sums_over(Evaluation& evaluation, const ExamplesView& from, std::span<const std::uint32_t> indices,
                         std::uint64_t chunk, const SumsPlan& plan, const std::function<void()>& after_piece) {
    EvaluationSums sums(plan);
    for (std::size_t first = 0; first < indices.size(); first += chunk) {
        evaluation.evaluate(from, indices.subspan(first, std::min<std::size_t>(chunk, indices.size() - first)), sums);
        if (after_piece) after_piece();
    }
    return sums;
}

void MeasurePass::measure(std::span<const std::uint32_t> shard, ReportValues& to, const std::function<void()>& after_piece) {
    const EvaluationSums sums = sums_over(evaluation_, train_, shard, chunk_, plan_, after_piece);
    clients::measure(sums, task_catalog().at(plan_.task), shard.size(), train_.target.width, reports_, to);
}

}  // namespace fedhive::clients
