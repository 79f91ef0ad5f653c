#include "sim/plan/experiment.h"

#include "aggregation/base/error.h"
#include "aggregation/math/vector_ops.h"
#include "clients/protocol/watcher.h"
#include "sim/machine/machine.h"
#include "sim/machine/nvml.h"
#include "sim/plan/blame.h"
#include "sim/plan/evaluated_clients.h"
#include "sim/plan/experiment_model.h"
#include "sim/plan/memory_plan.h"
#include "sim/plan/model_spec.h"
#include "sim/plan/one_rank.h"
#include "sim/plan/recorded_arrivals.h"
#include "sim/plan/warnings.h"
#include "sim/plan/worker_probe.h"
#include "sim/ranks/bytes.h"
#include "sim/record/run_record.h"
#include "sim/round/divergence.h"

#include <deque>

#include <algorithm>

namespace fedhive::sim {

using aggregation::MemorySpace;

Experiment Experiment::to_run(const LoadedConfig& loaded, std::int64_t until, Ranks& ranks,
                              const std::filesystem::path& folder) {
    return Experiment(loaded, {.arrivals = true, .device = Device::Trains, .until = until, .ranks = ranks, .folder = folder});
}

Experiment Experiment::to_resume(const LoadedConfig& loaded, const Begin& begin, std::int64_t until,
                                 const std::optional<WorkerChoice>& before, Ranks& ranks, const std::filesystem::path& folder) {
    return Experiment(loaded, {.begin = begin,
                               .arrivals = true,
                               .device = Device::Trains,
                               .until = until,
                               .before = before,
                               .ranks = ranks,
                               .folder = folder});
}

Experiment Experiment::to_replay(const LoadedConfig& loaded, const Begin& begin, const std::filesystem::path& folder) {
    return Experiment(loaded, {.begin = begin, .folder = folder});
}

Experiment Experiment::to_evaluate(const LoadedConfig& loaded, const Begin& begin) {
    return Experiment(loaded, {.begin = begin, .device = Device::Evaluates});
}

Experiment Experiment::to_inspect(const LoadedConfig& loaded, Ranks& ranks, std::uint32_t num_ranks) {
    return Experiment(loaded, {.arrivals = true, .ranks = ranks, .num_ranks = num_ranks});
}

Experiment::Experiment(const LoadedConfig& loaded, const Purpose& purpose)
    : Experiment(loaded, purpose, choose_resources(loaded)) {}

Experiment::Experiment(const LoadedConfig& loaded, const Purpose& purpose, const Resources& resources)
    : Experiment(loaded, purpose, resources, load_data(loaded, resources.space, purpose.ranks)) {}

Experiment::Experiment(const LoadedConfig& loaded, const Purpose& purpose, const Resources& resources, ExperimentData&& data)
    : Experiment(loaded.run.data.partition.clients
                     ? loaded
                     : with_clients(loaded, static_cast<std::int64_t>(data.dataset.map().num_clients)),
                 purpose, std::move(data), resources) {}

Experiment::Experiment(const LoadedConfig& loaded, const Purpose& purpose, ExperimentData&& data, const Resources& resources)
    : ranks(purpose.ranks),
      config(loaded.run),
      space(resources.space),
      num_workers(workers_by_cores(loaded)),
      data_fingerprint(data.fingerprint),
      partition_fingerprint(data.partition_fingerprint),
      data_handle(data.handle),
      dataset(std::move(data.dataset)),
      model_file(open_model_file(loaded)),
      model(model_spec(loaded, {dataset.map().shape, dataset.map().num_classes, dataset.map().target}, model_file)),
      layout(lay_out(loaded, model, space, num_workers)),
      frozen(clients::frozen_layout(model)),
      local_part(model),
      memories(memories_of(config, dimensions_of(layout, local_part, dataset.map().num_classes))),
      travels(what_travels(memories, layout)),
      cut(make_cut(loaded, model, layout)),
      engine_choice(choose_engine(loaded, space, model, cut)),
      engine(engine_choice.engine),
      devices(blame(loaded, named_files(config.devices),
                    [&] { return Devices(config.devices, dataset.map().num_clients, config.all_seeds().sampling); })),
      recorded_arrivals(blame(loaded, "arrivals",
                              [&] {
                                  return config.arrivals.empty() ? std::vector<std::vector<std::uint32_t>>{}
                                                                 : read_arrivals(config.arrivals);
                              })),
      mode(make_mode(config)),
      slots(plan_slots(config, space, travels.num_floats(), workers_of_all_ranks(loaded, purpose.num_ranks),
                       engine_choice.in_blocks(space))),
      evaluated_clients(sim::evaluated_clients(loaded, dataset)),
      arena(make_arena(loaded, space, num_workers, mode, slots, travels, cut, frozen.num_floats(), memories)),
      strategy(make_mode_strategy(config, *arena, layout, memories, dataset.map().num_clients)),
      client_states(make_client_states(loaded, memories, dataset.map().num_clients, ranks, purpose.folder)),
      server(*arena, mode.velocity_index, memories),
      worker_plan(plan_workers()),
      missing_noise(worker_plan.upload, worker_plan.training.seed, layout, local_part, mode),
      owners(std::move(data.owners)),
      warnings(all_warnings(data.warnings, model)) {
    // The stored config names the device that was used, so that a rerun asks for the same.
    config.device = name_of(space);
    config.model.file_sha256 = model_file.sha256();
    num_workers = workers_that_fit(loaded, num_workers, host_bytes_of_worker(*this), this_machine().available_memory, "host");
    most_workers = num_workers;
    check_mps(loaded, {space, num_workers});
    clients::throw_if_interrupted();
    if (purpose.begin)
        purpose.begin(*this);
    else
        begin_anew(loaded);
    if (purpose.arrivals) check_recorded_arrivals(*this, loaded);
    if (purpose.device == Device::Unused) return;
    fit_device(loaded, purpose.device == Device::Trains);
    if (purpose.device == Device::Trains) settle_workers(purpose.until, purpose.before);
    clients::throw_if_interrupted();
}

/// The cohort's cut into slots must be the same on all ranks.
std::uint32_t Experiment::workers_of_all_ranks(const LoadedConfig& loaded, std::uint32_t num_ranks) const {
    if (ranks.is_alone() && num_ranks == 1) return num_workers;
    refuse_what_needs_one_rank(loaded, mode);
    if (ranks.is_alone()) return num_ranks * std::max(1U, num_workers);
    ranks.name_devices(space == MemorySpace::Cuda ? aggregation::cuda_versions().device_uuid : "");
    refuse_mps_of_several(loaded, ranks);
    ranks.number_workers(num_workers);
    return ranks.first_worker(ranks.size());
}

void Experiment::begin_anew(const LoadedConfig& loaded) const {
    const FirstModel first = first_model(loaded, model);
    begin_with(first.parameters, first.frozen);
}

void Experiment::begin_with(aggregation::ConstParamSpan parameters, aggregation::ConstParamSpan frozen_values) const {
    aggregation::set_zero(server.region());
    aggregation::copy(server.model(), parameters);
    aggregation::copy(arena->frozen(), frozen_values);
    aggregation::synchronize(space);  // before `parameters` are freed, and before a worker reads them
}

/// Device memory for the exchange between ranks: a sum and the aggregate, or all updates if the rule is not column-wise.
std::uint64_t Experiment::device_bytes_of_ranks() const {
    if (ranks.is_alone()) return 0;
    const bool whole = strategy.aggregator->column_rule() == aggregation::ColumnRule::None;
    return sizeof(float) * travels.num_floats() * (whole ? mode.clients_in_slots() : 2);
}

void Experiment::fit_device(const LoadedConfig& loaded, bool trains) {
    if (space != MemorySpace::Cuda) return;
    const auto free_bytes = [] { return aggregation::cuda_driver().free_bytes(); };
    Rehearsal one;
    // One rank after the other on a shared GPU: else each would count the others' memory as its own.
    ranks.in_turns_on_device([&] {
        if (num_workers == 0) return;
        // Allocate the coordinator's memory now: later the workers use up the rest.
        strategy.aggregator->zero_init(travels.num_floats(), space);
        strategy.server_optimizer->moments(travels.num_floats(), space);
        one = rehearse_worker(*this, free_bytes, trains);
    });
    const std::uint64_t sharing = ranks.on_device_of(ranks.rank());
    const std::uint64_t free = free_bytes() / sharing;
    ranks.in_turns_on_device([] {});  // all measure the free memory before anybody takes more
    if (num_workers == 0) return;
    rehearsed_step_s = one.step_s;
    const std::uint64_t largest = slots.largest(config.cohort_size());
    const std::uint64_t rows = engine_choice.in_blocks(space) ? device_bytes_of_rows(layout.num_floats(), largest) : 0;
    const std::uint64_t each = one.bytes + device_bytes_beyond_rehearsal(config, memories, layout.num_floats(), largest) + rows;
    const auto fit = [&](std::uint32_t wanted) {
        return workers_that_fit(loaded, wanted, each, device_bytes_for_workers(free - std::min(free, device_bytes_of_ranks())),
                                "device", describe_holders(nvml_holders()));
    };
    num_workers = fit(num_workers);
    if (config.workers) return;
    // On a GPU, a worker leaves its core idle for a part of the time.
    const std::int64_t worth_a_try = std::min<std::int64_t>(2 * this_machine().cores, num_tasks(config, mode));
    most_workers = fit(std::max(num_workers, static_cast<std::uint32_t>(worth_a_try)));
}

void Experiment::settle_workers(std::int64_t until, const std::optional<WorkerChoice>& before) {
    workers = choose_workers(*this, std::min(until, config.rounds) - server.round, before);
    num_workers = workers.workers;
    if (!ranks.is_alone()) ranks.number_workers(num_workers);
}

namespace {

clients::UploadPlan upload_plan(const RunConfig& run, std::uint64_t num_clients) {
    clients::UploadPlan plan;
    plan.sampling_seed = run.all_seeds().sampling;
    plan.num_clients = num_clients;
    for (const Chosen& step : run.upload) plan.steps[plan.size++] = clients::upload_step(step.name, step.values);
    return plan;
}

}  // namespace

clients::WorkerPlan Experiment::plan_workers() const {
    clients::WorkerPlan plan;
    plan.training = {.seed = config.all_seeds().training,
                     .local_epochs = static_cast<std::uint64_t>(config.training.local_epochs.value_or(1)),
                     .batch_size = static_cast<std::uint64_t>(config.training.batch_size),
                     .max_update_norm = config.failures.max_update_norm.value_or(0.0),
                     .local_steps = static_cast<std::uint64_t>(config.training.local_steps.value_or(0))};
    plan.optimizer = optimizer_options(config.training.optimizer);
    plan.upload = upload_plan(config, dataset.map().num_clients);
    plan.clip_norm = config.training.clip_norm.value_or(0.0);
    plan.model = model;
    plan.cut = cut;
    plan.all_reduce = mode.all_reduce;
    plan.all_examples = mode.pass == Pass::All;
    plan.layout_fingerprint = layout.fingerprint();
    plan.memories = memories;
    plan.control_change = strategy.control_change;
    plan.states_descriptor = client_states.descriptor();
    plan.arena = arena->geometry();
    plan.space = space;
    plan.arena_descriptor = arena->descriptor();
    plan.arena_handle = arena->handle();
    plan.data_descriptor = dataset.descriptor();
    plan.data = dataset.map();
    plan.normalization = clients::NormalizationPlan::of(config.data.normalize);
    plan.evaluation_chunk = static_cast<std::uint64_t>(config.evaluation.chunk_size);
    plan.threads = static_cast<int>(config.threads);
    plan.clients_at_once = static_cast<std::uint64_t>(config.training.clients_at_once);
    plan.data_handle = data_handle;
    plan.precision = config.training.precision == "bf16"   ? clients::Precision::BF16
                     : config.training.precision == "tf32" ? clients::Precision::TF32
                                                           : clients::Precision::F32;
    plan.engine = engine;
    plan.asked = engine_choice.asked;
    plan.graph = config.training.graph && space == MemorySpace::Cuda;
    plan.help_for_updates.set(help_for_updates(config));
    return plan;
}

namespace {

/// Of the memories that go one way. What is as long as the model has nothing in the local part.
std::uint64_t bytes_beside(const aggregation::Memories& memories, const clients::LocalPart& local_part,
                           bool aggregation::Memory::*goes) {
    std::uint64_t values = 0;
    for (const aggregation::Memory& memory : memories.all()) {
        if (!(memory.*goes)) continue;
        values += memory.values;
        if (memory.shape == aggregation::MemoryShape::Trainable) values -= local_part.num_parameters();
    }
    return values * sizeof(float);
}

}  // namespace

FleetOptions Experiment::fleet_options() const {
    FleetOptions options;
    options.workers = num_workers;
    options.ranks = &ranks;
    options.by_client = config.keeps_client_state();
    options.slots = slots;
    options.mode = mode;
    if (config.clock == "virtual")
        options.round_trip_s = [this](std::uint32_t client, std::uint64_t examples, const Traffic& traffic) {
            return devices.round_trip_s(client, examples, traffic.down, traffic.up);
        };
    options.recorded_arrivals = recorded_arrivals;
    const aggregation::Layout sent = layout.without(local_part.names());  // in both directions
    options.model_bytes = sent.num_values() * sizeof(float) + bytes_beside(memories, local_part, &aggregation::Memory::down);
    options.update_bytes =
        clients::upload_size(worker_plan.upload, sent).bytes() + bytes_beside(memories, local_part, &aggregation::Memory::up);
    options.activation_bytes = cut.activation_floats * sizeof(float);
    options.test_chunk = static_cast<std::uint64_t>(config.evaluation.chunk_size);
    options.evaluated_clients = evaluated_clients;
    options.personalized = config.evaluation.clients.personalized;
    options.failures = config.failures;
    options.help_for_model = help_for_model(config);
    options.faults = FaultSchedule(config.faults, config.all_seeds().sampling);
    return options;
}

void Experiment::keep_states(const Arrivals& arrived) {
    if (client_states.floats() == 0) return;
    for (const ClientReport& client : arrived.clients) {
        if (client.failure || client.elsewhere) continue;
        const aggregation::VisitMemories visit{
            .all = &memories, .region = {}, .record = {}, .slot = arena->slot(client.slot), .beside = arena->kept(client.slot)};
        std::deque<aggregation::HostView> written;
        std::vector<aggregation::RecordChange> changes;
        for (const aggregation::Memory& memory : memories.all())
            if (memory.in_record())
                changes.push_back({memory.record_offset, written.emplace_back(visit.written(memory.name())),
                                   memory.change == aggregation::MemoryChange::Add});
        client_states.change(client.client_id, changes);
    }
}

void Experiment::bring_states() {
    if (ranks.is_alone() || client_states.floats() == 0) return;
    const Patience patience{.seconds = 600.0};
    BytesWriter mine;
    for (const std::uint64_t client : client_states.keepers())
        if (ranks.owner_of(client, client_states.clients()) == ranks.rank()) mine.put(client);
    const std::vector<std::string> keepers = ranks.all_gather(mine.take(), patience);
    const auto each = [&](std::uint32_t rank, const auto& take) {
        for (BytesReader theirs(keepers[rank]); !theirs.empty();) take(theirs.get<std::uint64_t>());
    };
    if (!ranks.writes()) {
        std::vector<Outgoing> out;
        each(ranks.rank(), [&](std::uint64_t client) { out.push_back({0, std::as_bytes(client_states.of(client).host())}); });
        return ranks.exchange(out, {}, patience);
    }
    for (std::uint32_t rank = 1; rank < ranks.size(); ++rank) {
        std::vector<std::vector<float>> states;
        std::vector<Incoming> in;
        each(rank, [&](std::uint64_t) { states.emplace_back(client_states.floats()); });
        in.reserve(states.size());
        for (std::vector<float>& state : states) in.push_back({rank, std::as_writable_bytes(std::span(state))});
        ranks.exchange({}, in, patience);
        std::size_t next = 0;
        each(rank, [&](std::uint64_t client) { client_states.set(client, states[next++]); });
    }
}

}  // namespace fedhive::sim
