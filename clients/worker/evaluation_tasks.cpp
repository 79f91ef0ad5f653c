// The runner's tasks that train nobody's update: models on test examples, and on what clients have held out.
#include "clients/worker/task_runner.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/error.h"
#include "aggregation/base/random.h"

#include <algorithm>

namespace fedhive::clients {

namespace {

/// One epoch of the client's own, however long it trains for the server, with draws of its own.
LocalTraining one_epoch(const LocalTraining& plan) {
    return {.seed = Stream(plan.seed, Purpose::Personalization).next_u64(), .local_epochs = 1, .batch_size = plan.batch_size};
}

void write_sums(const EvaluationSums& sums, std::span<double> to) {
    FEDHIVE_CHECK_EQ(to.size(), sums.values().size());
    std::ranges::copy(sums.values(), to.begin());
}

}  // namespace

void TaskRunner::evaluate(TaskCell& cell) {
    const std::uint64_t total = dataset_.map().num_test;
    const Task task = cell.task;
    require(task.first <= total && task.count <= total - task.first, "last test example");
    EvaluationSums sums(plan_.sums);
    trainer_.evaluation().evaluate_range(model_of(aggregation::ConstParamSpan(arena_.global(task.global_index))),
                                         dataset_.test(arena_.space()), task.first, task.count, sums);
    write_sums(sums, block_.sums(block_.index_of(cell)));
}

void TaskRunner::evaluate_clients(const Task& task, bool personalized) {
    const std::span<const std::uint32_t> all = block_.evaluated();
    require(task.first <= all.size() && task.count <= all.size() - task.first, "last evaluated client");
    const aggregation::ConstParamSpan global = model_of(aggregation::ConstParamSpan(arena_.global(task.global_index)));
    Evaluation& evaluation = trainer_.evaluation();
    LocalStep local(trainer_.step(), plan_.clip_norm);
    SupervisedStep step(local, self_, stopping_, own_process_);
    if (!personalized && local_part_.empty()) evaluation.begin(global);
    for (std::uint64_t i = task.first; i < task.first + task.count; ++i) {
        const std::uint32_t client_id = all[i];
        require(client_id < dataset_.map().num_clients, "evaluated client");
        const aggregation::ConstParamSpan start = start_of(client_id, global);
        if (!personalized && !local_part_.empty()) evaluation.begin(start);
        if (personalized) {
            figures_.reserve(1);
            const RowClient row{client_id, dataset_.shard(client_id), &figures_[0]};
            ClientResult of_nobody;
            enqueue_clients(step, one_epoch(training_), task.objective, task.round, {&row, 1}, start, {&of_nobody, 1});
            evaluation.begin(step.parameters());
        }
        write_sums(evaluate_held_out(evaluation, client_id), block_.client_sums(i));
        states_.let_go(client_id);
        self_.heartbeat_ns.store(now_ns(), std::memory_order_relaxed);
    }
}

/// In pieces as large as those of the test examples.
EvaluationSums TaskRunner::evaluate_held_out(Evaluation& evaluation, std::uint32_t client_id) const {
    const ExamplesView examples = dataset_.train(arena_.space());
    const std::span<const std::uint32_t> held_out = dataset_.held_out(client_id);
    EvaluationSums sums(plan_.sums.of_client());
    for (std::size_t first = 0; first < held_out.size(); first += plan_.evaluation_chunk) {
        const std::size_t count = std::min<std::size_t>(plan_.evaluation_chunk, held_out.size() - first);
        evaluation.evaluate(examples, held_out.subspan(first, count), sums);
    }
    return sums;
}

}  // namespace fedhive::clients
