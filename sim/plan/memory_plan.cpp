#include "sim/plan/memory_plan.h"

#include "aggregation/base/error.h"
#include "aggregation/math/gram.h"
#include "clients/models/model_plan.h"
#include "clients/tasks/measures.h"
#include "clients/uploads/upload.h"
#include "clients/visit/python_clients.h"
#include "clients/visit/whole_clients.h"
#include "sim/fleet/fleet.h"
#include "sim/machine/machine.h"
#include "sim/modes/mode_spec.h"
#include "sim/plan/experiment.h"
#include "sim/plan/run_reports.h"
#include "sim/round/make_mode.h"

#include <algorithm>
#include <bit>

namespace fedhive::sim {

namespace {

constexpr std::uint64_t kProcessBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kPythonBytes = std::uint64_t{32} << 20;  // with NumPy
constexpr std::uint64_t kPythonWithTorchBytes = std::uint64_t{384} << 20;
constexpr std::uint64_t kRehearsedSteps = 8;

bool has_whole_gradient(const RunConfig& run) {
    return local_rule_of(parts_of(run.strategy.name, run.strategy.parts)).whole_gradient;
}

/// Vectors of [P] for the formulas of a visit.
std::uint64_t vectors_of_formulas(const aggregation::formulas::MethodFormulas& method) {
    if (!method.any()) return 0;
    using aggregation::formulas::Place;
    std::uint64_t vectors = 0;
    if (method.has(Place::Start)) vectors += 1;                                        // where a visit begins
    if (method.has(Place::End) && method.parsed(Place::End).reads("u")) vectors += 1;  // its update
    if (method.reads("local")) vectors += 1;                                           // the mask of a client's own part
    if (method.has(Place::Second)) vectors += 2;                                       // the first gradient, and the model
    if (method.has(Place::Judge)) vectors += 1;
    if (!method.losses_at.empty()) vectors += 1;
    if (method.reads_cross_losses()) vectors += 2;   // another client's model, and that with the client's own part
    if (method.measure_passes() > 1) vectors += 2;   // another model, and the trained one
    for (const auto& [place, lines] : method.lines)  // the magnitudes of each threshold
        vectors += static_cast<std::uint64_t>(std::ranges::count(
            method.parsed(place).nodes, aggregation::formulas::Opcode::Threshold, &aggregation::formulas::Node::op));
    for (const aggregation::formulas::MethodMemory& memory : method.memories)
        vectors += memory.is_model() && memory.owner != aggregation::MemoryOwner::Server && !memory.is_declared()
                       ? 1
                       : 0;                  // the others are among the run's memories
    return vectors + method.also_at.size();  // and other models of the loss
}

/// Vectors of [P] for gradients that are measured and not stepped along: each a mean, and zeros where its norm is taken.
std::uint64_t vectors_to_measure(const RunConfig& run) {
    constexpr std::uint64_t kMeanAndZeros = 2;
    std::uint64_t vectors = 0;
    if (clients::place_of_gradient_norm(reports_of(run))) vectors += kMeanAndZeros;
    if (clients::place_of_gradient_norm(asked_of_candidates(run))) vectors += kMeanAndZeros;
    if (run.strategy.formulas().reads_mean_gradient()) ++vectors;
    return vectors;
}

/// Bytes in which a worker adds updates and histories for inner products (aggregation/math/sum_rows.h): a range of columns of each.
std::uint64_t bytes_of_sum_rows(const RunConfig& run, std::uint64_t num_floats) {
    if (!run.strategy.histories()) return 0;
    return static_cast<std::uint64_t>(run.cohort_size()) * std::min<std::uint64_t>(num_floats, aggregation::kGramColumns) *
           sizeof(float);
}

/// A worker's copies of memories by class: what it reads, as formulas read it, sums in f64, and what it writes.
std::uint64_t bytes_by_class(const aggregation::Memories& memories) {
    constexpr std::uint64_t kCopies = 8;
    std::uint64_t floats = 0;
    for (const aggregation::Memory& memory : memories.all())
        if (memory.shape != aggregation::MemoryShape::Trainable && memory.shape != aggregation::MemoryShape::Named)
            floats += memory.floats;
    return kCopies * floats * sizeof(float);
}

/// Number of vectors of [P] of a worker.
std::uint64_t vectors_of_worker(const RunConfig& run, const aggregation::Memories& memories, const ModeSpec& mode,
                                std::uint64_t most_per_slot) {
    std::uint64_t vectors = 2;
    const std::uint64_t state_vectors = aggregation::num_state_vectors(optimizer_options(run.training.optimizer));
    vectors += state_vectors * (1 + mode.velocity_vectors);
    const std::uint64_t in_one_piece = run.training.clip_norm    ? 2  // the gradient, and zeros to take its norm
                                       : has_whole_gradient(run) ? 1
                                                                 : 0;
    vectors += std::max(mode.gradient_vectors, in_one_piece);
    vectors += vectors_of_formulas(run.strategy.formulas());
    vectors += vectors_to_measure(run);
    vectors += memories.all().size();    // for each: as a visit reads it, the update that leaves a residual
    if (!run.upload.empty()) ++vectors;  // the update that a step reads
    for (const Chosen& step : run.upload)
        if (entry_of(clients::upload_catalog(), step.name, "step of an upload").leaves_out)
            vectors += 2;  // for the selection of values
    for (const Chosen& step : run.upload)
        if (entry_of(clients::upload_catalog(), step.name, "step of an upload").hides)
            vectors += 2;  // the update whose norm it takes, and what is drawn
    const auto at_once = static_cast<std::uint64_t>(run.training.clients_at_once);
    if (at_once > 1) vectors += at_once * (2 + state_vectors);
    if (most_per_slot > 1) vectors += static_cast<std::uint64_t>(std::bit_width(most_per_slot)) - 1;  // partial sums
    return vectors;
}

}  // namespace

std::uint64_t host_bytes_of_worker(const RunConfig& run, const aggregation::Memories& memories, std::uint64_t num_floats,
                                   std::uint64_t most_per_slot) {
    return kProcessBytes +
           vectors_of_worker(run, memories, mode_spec(run.mode.name), most_per_slot) * num_floats * sizeof(float) +
           bytes_of_sum_rows(run, num_floats) + bytes_by_class(memories);
}

std::uint64_t activation_bytes_of_worker(const RunConfig& run, const clients::ModelSpec& model, clients::Engine engine) {
    constexpr double kDirectChunk = 64.0, kOfTheLargest = 5.0;
    const clients::Activations each = clients::activations_of(model);
    const double trained =
        static_cast<double>(run.training.batch_size * run.training.clients_at_once) * (each.all + each.gradients);
    const double evaluated = engine == clients::Engine::Direct
                                 ? kDirectChunk * each.all
                                 : static_cast<double>(run.evaluation.chunk_size) * kOfTheLargest * each.largest;
    return static_cast<std::uint64_t>(std::max(trained, evaluated) * sizeof(float));
}

namespace {

/// The Python process of a worker with strategy.visit, and the segment that they share.
std::uint64_t python_bytes_of_worker(const Experiment& run) {
    const VisitFile* const visit = run.config.strategy.parts.visit.get();
    if (visit == nullptr) return 0;
    const clients::SharedDataset& dataset = run.data.dataset;
    return (visit->takes_model ? kPythonWithTorchBytes : kPythonBytes) +
           clients::python_segment_bytes(run.model.layout.num_floats(), run.model.memories, dataset.map(),
                                         run.worker_plan.training, dataset.shard(largest_client(dataset)).size());
}

}  // namespace

std::uint64_t host_bytes_of_worker(const Experiment& run) {
    const std::uint64_t activations = run.resources.space == aggregation::MemorySpace::Host
                                          ? activation_bytes_of_worker(run.config, run.model.spec, run.worker_plan.engine)
                                          : 0;
    return host_bytes_of_worker(run.config, run.model.memories, run.model.layout.num_floats(),
                                run.resources.slots.largest(run.config.cohort_size())) +
           activations + python_bytes_of_worker(run);
}

std::uint64_t device_bytes_beyond_rehearsal(const RunConfig& run, const aggregation::Memories& memories,
                                            std::uint64_t num_floats, std::uint64_t most_per_slot) {
    RunConfig rehearsed = run;  // with the loss as the only objective, and candidates that tell nothing
    rehearsed.sampling = RunConfig().sampling;
    if (has_whole_gradient(run) && !run.strategy.client_state()) rehearsed.strategy.parts.local = {"plain"};
    const auto at_once = static_cast<std::uint64_t>(run.training.clients_at_once);
    const std::uint64_t vectors = vectors_of_worker(run, memories, mode_spec(run.mode.name), std::max(most_per_slot, at_once)) -
                                  vectors_of_worker(rehearsed, memories, ModeSpec{}, at_once);
    return vectors * num_floats * sizeof(float) + bytes_of_sum_rows(run, num_floats);
}

std::uint64_t device_bytes_of_rows(std::uint64_t num_floats, std::uint64_t most_per_slot, std::uint64_t of_batch) {
    return std::bit_ceil(std::min<std::uint64_t>(most_per_slot, clients::rows_at_once(num_floats, of_batch))) *
           (3 * num_floats + of_batch) * sizeof(float);
}

std::uint64_t device_bytes_for_workers(std::uint64_t free_bytes) { return free_bytes - free_bytes / 20; }

std::uint32_t workers_that_fit(const LoadedConfig& loaded, std::uint32_t wanted, std::uint64_t bytes_each,
                               std::uint64_t available_bytes, const std::string& where, const std::string& holders) {
    const std::uint64_t room = bytes_each == 0 ? wanted : available_bytes / bytes_each;
    if (wanted <= room) return wanted;
    if (!loaded.run.workers && room >= 1) return static_cast<std::uint32_t>(room);
    throw loaded.source->error(
        "workers", fmt::format("{} worker{} need {} bytes of {} memory ({} each), but {} bytes ({}) are available{}; {}",
                               wanted, wanted == 1 ? "" : "s", wanted * bytes_each, where, human_bytes(bytes_each),
                               available_bytes, human_bytes(available_bytes), holders,
                               room >= 1 ? fmt::format("use at most {}, or auto", room)
                                         : std::string("use a smaller model, batch_size or evaluation.chunk_size")));
}

std::uint32_t largest_client(const clients::SharedDataset& dataset) {
    std::uint32_t largest = 0;
    for (std::uint32_t client = 1; client < dataset.map().num_clients; ++client)
        if (dataset.shard(client).size() > dataset.shard(largest).size()) largest = client;
    return largest;
}

namespace {

/// The largest client and those after it, as many as are trained at once.
Cohort largest_and_next(const Experiment& run) {
    const std::uint64_t num_clients = run.data.dataset.map().num_clients;
    Cohort cohort;
    for (std::uint64_t i = 0; i < std::min(run.worker_plan.clients_at_once, num_clients); ++i)
        cohort.push_back(static_cast<std::uint32_t>((largest_client(run.data.dataset) + i) % num_clients));
    std::sort(cohort.begin(), cohort.end());
    return cohort;
}

}  // namespace

Rehearsal rehearse_worker(const Experiment& run, const std::function<std::uint64_t()>& free_bytes, bool trains) {
    const std::uint64_t before = free_bytes();
    FleetOptions options = run.fleet_options();
    options.workers = 1;
    options.ranks = &Ranks::alone();
    const Cohort cohort = largest_and_next(run);
    options.slots = SlotPlan::even(run.worker_plan.clients_at_once);
    options.mode = {};
    options.mode.in_flight = options.mode.quorum = cohort.size();
    options.faults = {};
    options.failures.policy = OnFailure::Drop;  // a failure here will happen again in the run, which reports it better
    clients::WorkerPlan plan = run.worker_plan;
    plan.training.local_steps =
        std::min(kRehearsedSteps, plan.training.steps_of(run.data.dataset.shard(largest_client(run.data.dataset)).size()));
    Fleet fleet(options, plan, *run.resources.arena, run.data.dataset);
    const Strategy strategy = make_strategy("fedavg", Weighting::Uniform);
    ServerState server(*run.resources.arena);
    const auto train = [&] {
        fleet.pull_down(cohort, server, strategy);
        fleet.train();
        const Arrivals arrived = fleet.barrier(server);
        fleet.release(arrived, server);
        return arrived.clients.front().result;
    };
    clients::ClientResult timed;
    if (trains) {
        train();  // the first one loads libraries
        timed = train();
    }
    fleet.evaluate(server);
    if (!options.evaluated_clients.empty()) fleet.evaluate_clients(server);
    const std::uint64_t after = free_bytes();
    const std::uint64_t steps = std::max<std::uint64_t>(1, timed.steps);
    return {.bytes = before > after ? before - after : 0, .step_s = timed.seconds / static_cast<double>(steps)};
}

}  // namespace fedhive::sim
