// The runner's tasks that train nobody's update: models on test examples, and on what clients have held out.
#include "clients/worker/task_runner.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/random.h"

#include <algorithm>

namespace fedhive::clients {

namespace {

/// One epoch of the client's own, however long it trains for the server, with draws of its own.
LocalTraining one_epoch(const LocalTraining& plan) {
    return {.seed = Stream(plan.seed, Purpose::Personalization).next_u64(), .local_epochs = 1, .batch_size = plan.batch_size};
}

}  // namespace

void TaskRunner::evaluate(TaskCell& cell) {
    const std::uint64_t total = dataset_.map().num_test;
    const Task task = cell.task;
    require(task.first <= total && task.count <= total - task.first, "last test example");
    cell.evaluation =
        trainer_.evaluation().evaluate_range(model_of(aggregation::ConstParamSpan(arena_.global(task.global_index))),
                                             dataset_.test(arena_.space()), task.first, task.count);
}

void TaskRunner::evaluate_clients(const Task& task, bool personalized) {
    const std::span<EvaluatedClient> all = block_.evaluated();
    require(task.first <= all.size() && task.count <= all.size() - task.first, "last evaluated client");
    const aggregation::ConstParamSpan global = model_of(aggregation::ConstParamSpan(arena_.global(task.global_index)));
    Evaluation& evaluation = trainer_.evaluation();
    LocalStep local(trainer_.step(), plan_.clip_norm);
    SupervisedStep step(local, self_, stopping_, own_process_);
    if (!personalized && local_part_.empty()) evaluation.begin(global);
    for (EvaluatedClient& client : all.subspan(task.first, task.count)) {
        require(client.client_id < dataset_.map().num_clients, "evaluated client");
        const aggregation::ConstParamSpan start = start_of(client.client_id, global);
        if (!personalized && !local_part_.empty()) evaluation.begin(start);
        if (personalized) {
            figures_.reserve(1);
            const RowClient row{client.client_id, dataset_.shard(client.client_id), &figures_[0]};
            ClientResult of_nobody;
            enqueue_clients(step, one_epoch(training_), task.objective, task.round, {&row, 1}, start, {&of_nobody, 1});
            evaluation.begin(step.parameters());
        }
        client.result = evaluate_held_out(evaluation, client.client_id);
        states_.let_go(client.client_id);
        self_.heartbeat_ns.store(now_ns(), std::memory_order_relaxed);
    }
}

/// In pieces as large as those of the test examples.
EvaluationResult TaskRunner::evaluate_held_out(Evaluation& evaluation, std::uint32_t client_id) const {
    const ExamplesView examples = dataset_.train(arena_.space());
    const std::span<const std::uint32_t> held_out = dataset_.held_out(client_id);
    EvaluationResult sum;
    for (std::size_t first = 0; first < held_out.size(); first += plan_.evaluation_chunk) {
        const std::size_t count = std::min<std::size_t>(plan_.evaluation_chunk, held_out.size() - first);
        sum += evaluation.evaluate(examples, held_out.subspan(first, count));
    }
    return sum;
}

}  // namespace fedhive::clients
