#include "clients/worker/evaluation_tasks.h"

#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "clients/models/model_plan.h"
#include "clients/visit/measure_pass.h"

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

EvaluationTasks::EvaluationTasks(WorkerContext& worker) : worker_(worker), figures_(worker.arena.space()) {
    const MethodText& method = worker.plan.method;
    if (method.empty()) return;
    const auto formulas = aggregation::formulas::MethodFormulas::of(method.get());
    changes_elements_ = formulas.changes_elements();
    if (!FormulaJudge::is_in(formulas)) return;
    judge_.emplace(method, worker.plan.memories, model_layout(worker.plan.model), worker.local_part, worker.arena.space(),
                   worker.plan.row_sizes());
}

void EvaluationTasks::evaluate(TaskCell& cell) {
    const std::uint64_t total = worker_.dataset.map().num_tests();
    const Task task = cell.task;
    require(task.first <= total && task.count <= total - task.first, "last test example");
    EvaluationSums sums(worker_.plan.sums);
    worker_.trainer.evaluation().evaluate_range(worker_.global_model(task), worker_.dataset.test(worker_.arena.space()),
                                                task.first, task.count, sums);
    write_sums(sums, worker_.block.sums(worker_.block.index_of(cell)));
}

std::span<const std::uint32_t> EvaluationTasks::clients_of(const Task& task) const {
    const std::span<const std::uint32_t> all = worker_.block.evaluated();
    require(task.first <= all.size() && task.count <= all.size() - task.first, "last evaluated client");
    const std::span<const std::uint32_t> clients = all.subspan(task.first, task.count);
    for (const std::uint32_t client_id : clients) require(client_id < worker_.dataset.map().num_clients, "evaluated client");
    return clients;
}

void EvaluationTasks::evaluate_clients(const Task& task) {
    const bool personalized = task.kind == TaskKind::EvaluatePersonalized;
    const aggregation::ConstParamSpan global = worker_.global_model(task);
    Evaluation& evaluation = worker_.trainer.evaluation();
    LocalStep local(worker_.trainer.step(), worker_.plan.clip_norm);
    std::optional<FormulaVisit> formulas;
    if (personalized && changes_elements_) {
        formulas.emplace(worker_.plan.method, worker_.plan.memories, model_layout(worker_.plan.model), worker_.local_part,
                         worker_.plan.reports, worker_.arena.space());
        formulas->add_to(local);
    }
    SupervisedStep step(local, worker_.supervision);
    if (OutputLoss* const loss = worker_.trainer.output_loss()) loss->rest();
    if (!personalized && worker_.local_part.empty()) evaluation.begin(global);
    const ExamplesView train = worker_.dataset.train(worker_.arena.space());
    EvaluatePiece answers;
    if (judge_ && judge_->has_answer())
        answers = [&](std::span<const std::uint32_t> piece, EvaluationSums& sums) {
            judge_->answers(evaluation, train, worker_.dataset.train().labels, piece, sums);
        };
    std::uint64_t place = task.first;
    for (const std::uint32_t client_id : clients_of(task)) {
        const aggregation::ConstParamSpan start = worker_.start_of(task, client_id);
        if (!personalized && !worker_.local_part.empty()) evaluation.begin(start);
        if (formulas) formulas->begin(worker_.memories_of(task, client_id), start, facts_of(task, client_id));
        if (personalized) evaluation.begin(own_model(task, client_id, start, step));
        // In pieces as large as those of the test examples.
        const EvaluationSums sums = sums_over(
            evaluation, train, worker_.dataset.held_out(client_id), worker_.plan.evaluation_chunk,
            worker_.plan.sums.of_client(), [&] { worker_.supervision.beat(); }, personalized ? answers : EvaluatePiece());
        write_sums(sums, worker_.block.client_sums(place++));
        worker_.states.release_pages(client_id);
        worker_.supervision.beat();
    }
}

VisitFacts EvaluationTasks::facts_of(const Task& task, std::uint32_t client_id) const {
    const std::size_t examples = worker_.dataset.shard(client_id).size();
    return VisitFacts::of(task.round, examples, worker_.training.steps_of(examples), worker_.plan.optimizer, task.rate);
}

/// The client's own model, made of `start`: by the method's judge, else by a local epoch.
aggregation::ConstParamSpan EvaluationTasks::own_model(const Task& task, std::uint32_t client_id,
                                                       aggregation::ConstParamSpan start, TrainingStep& step) {
    const std::span<const std::uint32_t> shard = worker_.dataset.shard(client_id);
    if (judge_) return judge_->model(worker_.memories_of(task, client_id), start, facts_of(task, client_id));
    figures_.reserve(1);
    const RowClient row{client_id, shard, &figures_[0]};
    ClientResult of_nobody;
    enqueue_clients(step, one_epoch(worker_.training), task.rate, task.round, {&row, 1}, start, {&of_nobody, 1});
    return step.parameters();
}

void EvaluationTasks::measure_clients(const Task& task) {
    MeasurePass pass(worker_.trainer.evaluation(), worker_.bare_step, worker_.measure_options(), worker_.plan.of_candidates);
    if (worker_.local_part.empty()) pass.begin(worker_.global_model(task));
    std::uint64_t place = task.first;
    for (const std::uint32_t client_id : clients_of(task)) {
        if (!worker_.local_part.empty()) pass.begin(worker_.start_of(task, client_id));
        ReportValues measured{};
        pass.measure({task.round, client_id, worker_.dataset.shard(client_id)}, measured, [&] { worker_.supervision.beat(); });
        worker_.block.client_sums(place++).front() = measured.front();
        worker_.states.release_pages(client_id);
        worker_.supervision.beat();
    }
}

}  // namespace fedhive::clients
