#include "clients/worker/in_place_task.h"

#include "aggregation/math/vector_ops.h"

#include <numeric>
#include <vector>

namespace fedhive::clients {

void train_in_place(WorkerContext& worker, const Task& task) {
    const std::uint32_t client_id = worker.client_of(task.first);
    std::vector<std::uint32_t> all;
    std::span<const std::uint32_t> examples = worker.dataset.shard(client_id);
    if (worker.plan.all_examples) {
        all.resize(worker.dataset.map().num_train);
        std::iota(all.begin(), all.end(), 0U);
        examples = all;
    }
    worker.supervision.expect(worker.block.members()[task.first].fault);
    worker.accept(task.first, train_hogwild(worker.step, worker.training, task.round, client_id, examples,
                                            worker.arena.global(task.global_index), task.rate.lr_factor));
    aggregation::synchronize(worker.arena.space());
    worker.supervision.update_written(0, worker.step.parameters());
}

}  // namespace fedhive::clients
