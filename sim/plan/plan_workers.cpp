#include "sim/plan/plan_workers.h"

#include "clients/data/batches.h"
#include "clients/models/feature_layer.h"
#include "clients/tasks/output_loss.h"
#include "sim/plan/run_reports.h"
#include "sim/plan/task_plan.h"
#include "sim/plan/upload_plan.h"
#include "sim/plan/visit_text.h"
#include "sim/round/divergence.h"
#include "sim/round/make_mode.h"

namespace fedhive::sim {

using aggregation::MemorySpace;

clients::WorkerPlan plan_workers(const RunConfig& config, const Mode& mode, const ExperimentData& data, const ModelSetup& model,
                                 const Resources& resources, const ServerSide& server) {
    clients::WorkerPlan plan;
    plan.training = {.seed = config.all_seeds().training,
                     .local_epochs = static_cast<std::uint64_t>(config.training.local_epochs.value_or(1)),
                     .batch_size = static_cast<std::uint64_t>(config.training.batch_size),
                     .max_update_norm = config.failures.max_update_norm.value_or(0.0),
                     .local_steps = static_cast<std::uint64_t>(config.training.local_steps.value_or(0))};
    plan.optimizer = optimizer_options(config.training.optimizer);
    plan.upload = upload_plan(config, data.dataset.map().num_clients);
    plan.clip_norm = config.training.clip_norm.value_or(0.0);
    plan.model = model.spec;
    plan.cut = model.cut;
    plan.all_reduce = mode.all_reduce;
    plan.all_examples = mode.pass == PassExamples::All;
    plan.layout_fingerprint = model.layout.fingerprint();
    plan.memories = model.memories;
    const aggregation::formulas::MethodFormulas& method = server.strategy.method;
    if (method.changes_visits() || clients::FormulaJudge::is_in(method)) plan.method.set(method.text());
    plan.training.takes_next = method.second_on_next;
    if (method.has(aggregation::formulas::Place::Second)) plan.passes_of_a_step = 2;
    if (clients::loss_needs(method).features) plan.features = clients::feature_layer(model.spec).features;
    plan.loss_passes = method.losses_at.size();
    plan.measure_passes = method.measure_passes();
    plan.mean_gradient = method.reads_mean_gradient();
    plan.states_descriptor = server.client_states.descriptor();
    plan.arena = resources.arena->geometry();
    plan.space = resources.space;
    plan.arena_descriptor = resources.arena->descriptor();
    plan.arena_handle = resources.arena->handle();
    plan.data_descriptor = data.dataset.descriptor();
    plan.data = data.dataset.map();
    plan.normalization = clients::NormalizationPlan::of(config.data.normalize);
    plan.loss = loss_plan(config, data.dataset);
    plan.sums = sums_plan(config, data.dataset.map().num_classes);
    plan.evaluation_chunk = static_cast<std::uint64_t>(config.evaluation.chunk_size);
    plan.reports = reports_of(config);
    plan.of_candidates = asked_of_candidates(config);
    plan.threads = static_cast<int>(config.threads);
    plan.clients_at_once = static_cast<std::uint64_t>(config.training.clients_at_once);
    plan.data_handle = data.handle;
    plan.precision = config.training.precision;
    plan.engine = resources.engine_choice.engine;
    plan.asked = resources.engine_choice.asked;
    plan.graph = config.training.graph && resources.space == MemorySpace::Cuda;
    plan.visit = handle_of(server.source_of_visit.get());
    plan.help_for_updates.set(help_for_updates(config));
    return plan;
}

}  // namespace fedhive::sim
