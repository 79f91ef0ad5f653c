#include "clients/worker/cross_losses_task.h"

#include "aggregation/math/vector_ops.h"
#include "clients/visit/measure_pass.h"

#include <vector>

namespace fedhive::clients {

void take_losses(WorkerContext& worker, const Task& task) {
    const std::size_t updates = task.num_terms;
    require(updates >= 1 && updates <= worker.block.terms().size() && updates * updates <= worker.block.losses().size(),
            "last update");
    require(task.first <= updates && task.count <= updates - task.first, "last client of an update");
    const std::span<const Term> terms = worker.block.terms().first(updates);
    const aggregation::ConstParamSpan sent = worker.global_model(task);
    const MeasureOptions options = worker.measure_options();
    aggregation::ParamBuffer model(sent.size, sent.space), with_own;
    if (OutputLoss* const loss = worker.trainer.output_loss()) loss->rest();
    for (std::size_t i = task.first; i < task.first + task.count; ++i) {
        const auto client_id = static_cast<std::uint32_t>(terms[i].client_id);
        require(client_id < worker.dataset.map().num_clients, "client of an update");
        const std::span<const std::uint32_t> held_out = worker.dataset.held_out(client_id);
        const std::span<const std::uint32_t> examples = held_out.empty() ? worker.dataset.shard(client_id) : held_out;
        for (std::size_t j = 0; j < updates; ++j) {
            aggregation::copy(model, sent);
            aggregation::add(model, worker.plan.memories.of(aggregation::ConstParamSpan(worker.arena.slot(terms[j].slot)),
                                                            aggregation::kModel));
            const aggregation::ConstParamSpan theirs =
                worker.local_part.start(model, worker.memories_of(task, client_id), with_own);
            worker.block.losses()[i * updates + j] =
                mean_loss_of_model(worker.trainer.evaluation(), options, theirs, examples, [&] { worker.supervision.beat(); });
        }
        worker.states.release_pages(client_id);
    }
}

}  // namespace fedhive::clients
