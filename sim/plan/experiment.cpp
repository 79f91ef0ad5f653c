#include "sim/plan/experiment.h"

#include "aggregation/base/error.h"
#include "clients/engine/device_network.h"
#include "clients/protocol/watcher.h"
#include "sim/config/load_config.h"
#include "sim/machine/machine.h"
#include "sim/machine/nvml.h"
#include "sim/plan/blame.h"
#include "sim/plan/evaluated_clients.h"
#include "sim/plan/label_discrepancies.h"
#include "sim/plan/memory_plan.h"
#include "sim/plan/one_rank.h"
#include "sim/plan/plan_workers.h"
#include "sim/plan/recorded_arrivals.h"
#include "sim/plan/run_warnings.h"
#include "sim/plan/upload_plan.h"
#include "sim/plan/worker_probe.h"
#include "sim/record/run_record.h"
#include "sim/round/divergence.h"

#include <algorithm>
#include <utility>

namespace fedhive::sim {

using aggregation::MemorySpace;

namespace {

/// The cohort's cut into slots must be the same on all ranks.
std::uint32_t workers_of_all_ranks(const LoadedConfig& loaded, const Placement& placement, const Mode& mode, Ranks& ranks,
                                   std::uint32_t num_ranks) {
    if (ranks.is_alone() && num_ranks == 1) return placement.num_workers;
    refuse_what_needs_one_rank(loaded, mode);
    if (ranks.is_alone()) return num_ranks * std::max(1U, placement.num_workers);
    ranks.name_devices(placement.space == MemorySpace::Cuda ? aggregation::cuda_versions().device_uuid : "");
    refuse_mps_of_several(loaded, ranks);
    ranks.number_workers(placement.num_workers);
    return ranks.first_worker(ranks.size());
}

std::vector<std::vector<std::uint32_t>> arrivals_of(const LoadedConfig& loaded) {
    if (loaded.run.arrivals.empty()) return {};
    return blame(loaded, "arrivals", [&] { return read_arrivals(loaded.run.arrivals); });
}

/// Everything but the first model, and the workers that fit on the device.
Experiment build(const LoadedConfig& given, Ranks& ranks, const std::filesystem::path& folder, std::uint32_t num_ranks = 1) {
    Placement placement = choose_placement(given);
    ExperimentData data = load_data(given, placement.space, ranks);
    const clients::DatasetMap map = data.dataset.map();
    const LoadedConfig loaded = with_clients(given, static_cast<std::int64_t>(map.num_clients));
    placement.num_workers = workers_by_cores(loaded);

    ModelSetup model = ModelSetup::make(loaded, {map.shape, map.num_classes, map.target}, placement);
    const RunConfig& config = loaded.run;
    Devices devices = blame(loaded, named_files(config.devices),
                            [&] { return Devices(config.devices, map.num_clients, config.all_seeds().sampling); });
    auto recorded_arrivals = arrivals_of(loaded);
    Mode mode = make_mode(config);
    const std::uint32_t all_workers = workers_of_all_ranks(loaded, placement, mode, ranks, num_ranks);
    std::vector<std::uint32_t> evaluated = evaluated_clients(loaded, data.dataset);
    Resources resources = Resources::make(loaded, placement, all_workers, model, mode);
    ServerSide server = ServerSide::make(loaded, model, mode, *resources.arena, map.num_clients, ranks, folder);
    if (aggregation::aggregator_spec(config.strategy.parts.aggregator.name).label_discrepancies)
        server.weighing.set_label_discrepancies(label_discrepancies(loaded, data.dataset));
    std::unique_ptr<Sampler> sampler = make_sampler(config, data.dataset);
    const clients::WorkerPlan worker_plan = plan_workers(config, mode, data, model, resources, server);

    Experiment run{.ranks = ranks,
                   .config = config,
                   .asked = config.device,
                   .notes = loaded.notes,
                   .mode = std::move(mode),
                   .devices = std::move(devices),
                   .recorded_arrivals = std::move(recorded_arrivals),
                   .evaluated_clients = std::move(evaluated),
                   .data = std::move(data),
                   .model = std::move(model),
                   .resources = std::move(resources),
                   .server = std::move(server),
                   .sampler = std::move(sampler),
                   .worker_plan = worker_plan};
    // The stored config names the device that was used, so that a rerun asks for the same.
    run.config.device = device_of(placement.space);
    run.config.model.file_sha256 = run.model.file.sha256();
    placement.num_workers =
        workers_that_fit(loaded, placement.num_workers, host_bytes_of_worker(run), this_machine().available_memory, "host");
    run.resources.num_workers = run.resources.most_workers = placement.num_workers;
    check_mps(loaded, placement);
    clients::throw_if_interrupted();
    return run;
}

/// Device memory for the exchange between ranks: a sum and the aggregate, or all updates if the rule is not column-wise.
std::uint64_t device_bytes_of_ranks(const Experiment& run) {
    if (run.ranks.is_alone()) return 0;
    const bool whole = run.server.strategy.aggregator->column_rule() == aggregation::ColumnRule::None;
    return sizeof(float) * run.model.region.num_floats() * (whole ? run.mode.clients_in_slots() : 2);
}

/// On a GPU: measures one worker, and keeps no more workers than fit.
void fit_device(Experiment& run, const LoadedConfig& loaded, bool trains) {
    Resources& resources = run.resources;
    if (resources.space != MemorySpace::Cuda) return;
    const auto free_bytes = [] { return aggregation::cuda_driver().free_bytes(); };
    Rehearsal one;
    // One rank after the other on a shared GPU: else each would count the others' memory as its own.
    run.ranks.in_turns_on_device([&] {
        if (resources.num_workers == 0) return;
        // Allocate the coordinator's memory now: later the workers use up the rest.
        const Strategy& strategy = run.server.strategy;
        strategy.aggregator->zero_init(run.model.region.num_floats(), resources.space);
        run.server.attackers.reserve(run.model.region.num_floats(), resources.space);
        run.server.broadcast.reserve(run.model.layout.num_floats(), resources.space);
        strategy.server_optimizer->moments(run.model.region.num_floats(), resources.space);
        one = rehearse_worker(run, free_bytes, trains);
    });
    const std::uint64_t sharing = run.ranks.on_device_of(run.ranks.rank());
    const std::uint64_t free = free_bytes() / sharing;
    run.ranks.in_turns_on_device([] {});  // all measure the free memory before anybody takes more
    if (resources.num_workers == 0) return;
    resources.rehearsed_step_s = one.step_s;
    const std::uint64_t largest = resources.slots.largest(run.config.cohort_size()), floats = run.model.layout.num_floats();
    const auto bytes_of_rows = [&] {
        const auto batch = std::min<std::uint64_t>(run.worker_plan.training.batch_size, run.data.dataset.largest_shard());
        return device_bytes_of_rows(floats, largest, clients::floats_of_batch(run.model.spec, batch));
    };
    const std::uint64_t rows = resources.engine_choice.in_blocks(resources.space) ? bytes_of_rows() : 0;
    const std::uint64_t each =
        one.bytes + device_bytes_beyond_rehearsal(run.config, run.model.memories, floats, largest) + rows;
    const std::uint64_t for_workers = device_bytes_for_workers(free - std::min(free, device_bytes_of_ranks(run)));
    const auto fit = [&](std::uint32_t wanted) {
        return workers_that_fit(loaded, wanted, each, for_workers, "device", describe_holders(nvml_holders()));
    };
    resources.num_workers = fit(resources.num_workers);
    if (run.config.workers) return;
    // On a GPU, a worker leaves its core idle for a part of the time.
    const std::int64_t worth_a_try = std::min<std::int64_t>(2 * this_machine().cores, num_tasks(run.config, run.mode));
    resources.most_workers = fit(std::max(resources.num_workers, static_cast<std::uint32_t>(worth_a_try)));
}

/// Bytes of the memories that go one way. A memory as long as the model has nothing in the local part.
std::uint64_t bytes_of_memories(const aggregation::Memories& memories, const clients::LocalPart& local_part,
                                bool aggregation::Memory::*goes) {
    std::uint64_t values = 0;
    for (const aggregation::Memory& memory : memories.all()) {
        if (!(memory.*goes)) continue;
        values += memory.values;
        if (memory.shape == aggregation::MemoryShape::Trainable) values -= local_part.num_parameters();
    }
    return values * sizeof(float);
}

void settle_workers(Experiment& run, std::int64_t until, const std::optional<WorkerChoice>& before) {
    Resources& resources = run.resources;
    resources.workers = choose_workers(run, std::min(until, run.config.rounds) - run.server.state.round, before);
    resources.num_workers = resources.workers.workers;
    if (!run.ranks.is_alone()) run.ranks.number_workers(resources.num_workers);
}

}  // namespace

Experiment Experiment::to_run(const LoadedConfig& loaded, std::int64_t until, Ranks& ranks,
                              const std::filesystem::path& folder) {
    return to_resume(
        loaded, [&](const Experiment& run) { run.begin_anew(loaded); }, until, std::nullopt, ranks, folder);
}

Experiment Experiment::to_resume(const LoadedConfig& loaded, const Begin& begin, std::int64_t until,
                                 const std::optional<WorkerChoice>& before, Ranks& ranks, const std::filesystem::path& folder) {
    Experiment run = build(loaded, ranks, folder);
    begin(run);
    check_recorded_arrivals(run, loaded);
    fit_device(run, loaded, true);
    settle_workers(run, until, before);
    clients::throw_if_interrupted();
    return run;
}

Experiment Experiment::to_replay(const LoadedConfig& loaded, const Begin& begin, const std::filesystem::path& folder) {
    Experiment run = build(loaded, Ranks::alone(), folder);
    begin(run);
    return run;
}

Experiment Experiment::to_evaluate(const LoadedConfig& loaded, const Begin& begin) {
    Experiment run = build(loaded, Ranks::alone(), {});
    begin(run);
    fit_device(run, loaded, false);
    clients::throw_if_interrupted();
    return run;
}

Experiment Experiment::to_inspect(const LoadedConfig& loaded, Ranks& ranks, std::uint32_t num_ranks) {
    Experiment run = build(loaded, ranks, {}, num_ranks);
    run.begin_anew(loaded);
    check_recorded_arrivals(run, loaded);
    return run;
}

void Experiment::begin_anew(const LoadedConfig& loaded) const { server.begin_with(model.first(loaded)); }

std::vector<std::string> Experiment::warnings() const {
    std::vector<std::string> lines = all_warnings(data.warnings, model.spec);
    for (const std::string& warning : {delta_warning(config), root_warning(config), device_warning(asked, model.spec)})
        if (!warning.empty()) lines.push_back(warning);
    return lines;
}

FleetOptions Experiment::fleet_options() const {
    FleetOptions options;
    options.workers = resources.num_workers;
    options.ranks = &ranks;
    options.by_client = config.keeps_client_state();
    options.slots = resources.slots;
    options.mode = mode;
    if (config.clock == Clock::Virtual)
        options.round_trip_s = [this](std::uint32_t client, std::uint64_t examples, const Traffic& traffic) {
            return devices.round_trip_s(client, examples, traffic.down, traffic.up);
        };
    options.recorded_arrivals = recorded_arrivals;
    const aggregation::Layout sent = model.layout.without(model.local_part.names());  // in both directions
    const auto bytes_beside = [this](bool aggregation::Memory::*goes) {
        return bytes_of_memories(model.memories, model.local_part, goes);
    };
    options.model_bytes = sent.num_values() * sizeof(float) + bytes_beside(&aggregation::Memory::down);
    if (config.sends_compressed())
        options.sent_bytes = {.whole = sent.num_values() * sizeof(float),
                              .each = clients::upload_size(download_plan(config), sent).bytes(),
                              .beside = bytes_beside(&aggregation::Memory::down)};
    options.update_bytes = clients::upload_size(worker_plan.upload, sent).bytes() + bytes_beside(&aggregation::Memory::up);
    options.report_bytes = worker_plan.reports.bytes();
    options.activation_bytes = model.cut.activation_floats * sizeof(float);
    options.test_chunk = static_cast<std::uint64_t>(config.evaluation.chunk_size);
    options.evaluated_clients = evaluated_clients;
    options.cross_losses = config.reads_cross_losses();
    options.groups_updates = server.strategy.group_means != nullptr;
    options.most_measured = most_measured(config, data.dataset.map().num_clients);
    options.personalized = config.evaluation.clients.personalized;
    options.failures = config.failures;
    options.help_for_model = help_for_model(config);
    options.faults = FaultSchedule(config.faults, config.all_seeds().sampling);
    return options;
}

}  // namespace fedhive::sim
