#include "sim/plan/experiment.h"

#include "aggregation/base/error.h"
#include "aggregation/math/vector_ops.h"
#include "aggregation/memory/host_arena.h"
#include "clients/data/batches.h"
#include "clients/data/data_format.h"
#include "clients/data/partition.h"
#include "clients/models/parameter_count.h"
#include "clients/protocol/watcher.h"
#include "sim/machine/cuda_refusal.h"
#include "sim/machine/machine.h"
#include "sim/machine/nvml.h"
#include "sim/plan/memory_plan.h"
#include "sim/record/run_record.h"
#include "sim/round/divergence.h"
#include "sim/state/model_file.h"
#include "sim/workers/mps.h"

#include <algorithm>

namespace fedhive::sim {

using aggregation::MemorySpace;

namespace {

MemorySpace choose_device(const LoadedConfig& loaded) {
    if (loaded.run.device == "cpu") return MemorySpace::Host;
    // A worker that cannot open the arena would be replaced twenty times before anybody gives up.
    const bool shared = loaded.run.workers != 0;
    const std::string why = why_no_cuda(collect_cuda_facts(shared));
    if (why.empty()) return MemorySpace::Cuda;
    if (loaded.run.device == "cuda") throw loaded.source->error("device", why);
    return MemorySpace::Host;
}

const char* name_of(MemorySpace space) { return space == MemorySpace::Host ? "cpu" : "cuda"; }

std::int64_t num_tasks(const RunConfig& run, const Mode& mode) {
    const auto each = static_cast<std::uint64_t>(run.training.least_per_slot());
    const auto slots = static_cast<std::int64_t>(SlotPlan::even(each).num_slots(mode.in_flight));
    return static_cast<std::int64_t>(mode.tasks.size()) * slots;
}

/// auto: as many processes as the cores have room for, each with its threads, but no more than there are tasks, and no fewer than must work
/// at the same time.
std::uint32_t workers_by_cores(const LoadedConfig& loaded) {
    const RunConfig& run = loaded.run;
    const Mode mode = make_mode(run);
    const auto least = static_cast<std::int64_t>(mode.group_size());
    if (run.workers) {
        if (least > 1 && *run.workers < least)
            throw loaded.source->error(
                "workers", fmt::format("{} is too few: in mode {} {} processes work together; allowed: {} or more, or auto",
                                       *run.workers, run.mode.name, least, least));
        return static_cast<std::uint32_t>(*run.workers);
    }
    return static_cast<std::uint32_t>(
        std::max(least, std::clamp<std::int64_t>(this_machine().cores / run.threads, 1, num_tasks(run, mode))));
}

/// Activations of a batch and their gradient, on the boundary of a cache line.
std::uint64_t exchange_floats(const clients::Cut& cut, const RunConfig& run) {
    const std::uint64_t floats = cut.activation_floats * static_cast<std::uint64_t>(run.training.batch_size);
    return 2 * ((floats + 15) / 16 * 16);
}

/// Of what is drawn, before the first example is.
void require_memory(const std::vector<clients::MemoryNeed>& needs) {
    const std::uint64_t available = this_machine().available_memory;
    for (const auto& [what, bytes] : needs)
        if (bytes > static_cast<double>(available))
            throw ConfigError(fmt::format("{} need {:.3g} bytes, {} bytes ({}) are available; use fewer", what, bytes,
                                          available, human_bytes(available)));
}

clients::Dataset read_dataset(const RunConfig& run) {
    const clients::DataFormat& format = clients::data_format(run.data.format);
    const Values values = completed(run.data.values, format.keys);
    if (format.needs != nullptr) require_memory(format.needs(values));
    return format.read(values, run.all_seeds().data);
}

clients::Partition deal(const RunConfig& run, const clients::Dataset& dataset) {
    const clients::PartitionScheme& scheme = clients::partition_scheme(run.data.partition.scheme);
    return scheme.deal({dataset.train.labels, dataset.num_classes, static_cast<std::size_t>(run.data.partition.clients),
                        run.all_seeds().partition},
                       completed(run.data.partition.values, scheme.keys));
}

clients::ModelSpec model_spec(const ModelConfig& model, const clients::DatasetMap& data) {
    clients::ModelSpec spec;
    spec.name.set(model.name);
    spec.input = data.shape;
    spec.num_classes = data.num_classes;
    spec.dropout = model.dropout;
    spec.hidden = model.hidden;
    return spec;
}

aggregation::IpcHandle upload_examples(clients::SharedDataset& dataset) {
    try {
        return dataset.upload(aggregation::cuda_driver());
    } catch (const OutOfMemory& problem) {
        throw ConfigError(fmt::format("the examples do not fit into the memory of the GPU: {}{}; use fewer, or device: cpu",
                                      problem.what(), describe_holders(nvml_holders())));
    }
}

/// Runs `make`; what a lower floor finds wrong is told with the key that caused it.
template <typename Make>
auto blame(const LoadedConfig& loaded, const std::string& key, Make make) {
    try {
        return make();
    } catch (const ConfigError& error) {
        throw loaded.source->error(key, error.what());
    } catch (const std::bad_alloc&) {
        const std::uint64_t available = this_machine().available_memory;
        throw loaded.source->error(key, fmt::format("needs more memory than there is; {} bytes ({}) are available", available,
                                                    human_bytes(available)));
    }
}

}  // namespace

std::string resolve_device(const LoadedConfig& loaded) { return name_of(choose_device(loaded)); }

Experiment::Experiment(const LoadedConfig& loaded)
    : config(loaded.run),
      space(choose_device(loaded)),
      num_workers(workers_by_cores(loaded)),
      dataset(load_data(loaded)),
      model(model_spec(config.model, dataset.map())),
      layout(lay_out(loaded)),
      cut(make_cut(loaded)),
      devices(config.devices, dataset.map().num_clients, config.all_seeds().sampling),
      recorded_arrivals(config.arrivals.empty() ? std::vector<std::vector<std::uint32_t>>{} : read_arrivals(config.arrivals)),
      mode(make_mode(config)),
      slots(plan_slots(config, space, layout.num_floats(), num_workers)),
      arena(make_arena(loaded)),
      strategy(make_mode_strategy(config, *arena)),
      server(*arena, mode.velocity_index),
      worker_plan(plan_workers()) {
    // What is stored with the run names the device that was used, so that running it again asks for the same.
    config.device = name_of(space);
    num_workers = workers_that_fit(loaded, num_workers, host_bytes_of_worker(config, layout.num_floats(), slots.most),
                                   this_machine().available_memory, "host");
    most_workers = num_workers;
    check_mps(loaded);
    clients::throw_if_interrupted();
}

void Experiment::check_mps(const LoadedConfig& loaded) const {
    if (config.mps != "on") return;
    if (const std::string why = why_no_mps(space == MemorySpace::Cuda); !why.empty())
        throw loaded.source->error("mps", fmt::format("cannot be on: {}; allowed here: auto, off", why));
    if (config.workers && num_workers > kMostMpsWorkers)
        throw loaded.source->error("workers", fmt::format("{} is more than MPS takes; allowed with mps: on: 0 to {}, or auto",
                                                          num_workers, kMostMpsWorkers));
}

void Experiment::fit_device(const LoadedConfig& loaded, bool trains) {
    if (space != MemorySpace::Cuda || num_workers == 0) return;
    const auto free_bytes = [] { return aggregation::cuda_driver().free_bytes(); };
    // What the coordinator will take for itself is taken now: later the workers have it.
    strategy.aggregator->zero_init(layout.num_floats(), space);
    strategy.server_optimizer->moments(layout.num_floats(), space);
    const Rehearsal one = rehearse_worker(*this, free_bytes, trains);
    rehearsed_step_s = one.step_s;
    const std::uint64_t each = one.bytes + device_bytes_beyond_rehearsal(config, layout.num_floats(), slots.most);
    const auto fit = [&](std::uint32_t wanted) {
        return workers_that_fit(loaded, wanted, each, device_bytes_for_workers(free_bytes()), "device",
                                describe_holders(nvml_holders()));
    };
    num_workers = fit(num_workers);
    if (config.workers) return;
    // What a worker does on a GPU leaves its core idle for a part of the time.
    const std::int64_t worth_a_try = std::min<std::int64_t>(2 * this_machine().cores, num_tasks(config, mode));
    most_workers = fit(std::max(num_workers, static_cast<std::uint32_t>(worth_a_try)));
}

void Experiment::load_first_model(const LoadedConfig& loaded) const {
    std::vector<float> first(layout.num_floats(), 0.0F);
    if (config.model.init.empty())
        clients::initial_parameters(model, layout, config.all_seeds().model, first);
    else
        first = blame(loaded, "model.init", [&] { return read_model(config.model.init, layout); });
    aggregation::copy(server.model(), first);
    aggregation::synchronize(space);  // before `first` goes, and before a worker reads it
}

clients::SharedDataset Experiment::load_data(const LoadedConfig& loaded) {
    const std::string blamed = clients::data_format(config.data.format).blamed;
    const clients::Dataset read =
        blame(loaded, blamed.empty() ? "data.format" : "data." + blamed, [&] { return read_dataset(config); });
    data_fingerprint = read.fingerprint();
    clients::throw_if_interrupted();
    const clients::Partition partition = blame(loaded, "data.partition", [&] { return deal(config, read); });
    for (std::size_t client = 0; client < partition.num_clients(); ++client)
        if (partition.num_examples(client) == 0)
            throw loaded.source->error("data.partition",
                                       fmt::format("client {} would have no examples; use fewer clients or more data", client));
    blame(loaded, "data.normalize", [&] {
        clients::NormalizationPlan::of(config.data.normalize);
        return clients::BatchGather(read.train.shape, config.data.normalize);
    });
    clients::SharedDataset shared = clients::SharedDataset::create(read, partition);
    if (space == MemorySpace::Cuda) data_handle = blame(loaded, "data", [&] { return upload_examples(shared); });
    return shared;
}

aggregation::Layout Experiment::lay_out(const LoadedConfig& loaded) const {
    require_model_memory(loaded);
    return blame(loaded, "model.name", [&] { return clients::model_layout(model); });
}

/// Before the model is built: filling billions of parameters takes a while, and the memory they need is known without.
void Experiment::require_model_memory(const LoadedConfig& loaded) const {
    const double count = clients::num_parameters(model);
    const std::uint64_t available = this_machine().available_memory;
    const double vectors_that_fit = static_cast<double>(available) / (count * sizeof(float));
    std::uint64_t vectors = 1;
    if (space == MemorySpace::Host && vectors_that_fit >= 1.0) {
        const Mode planned = make_mode(config);
        vectors = planned.num_globals() +
                  planned.num_slots(plan_slots(config, space, static_cast<std::uint64_t>(count), num_workers));
    }
    if (static_cast<double>(vectors) <= vectors_that_fit) return;
    throw loaded.source->error(
        vectors > 1 ? "training.cohort" : "model.name",
        fmt::format(
            "{} has {:.0f} parameters, {:.3g} bytes, of which the arena holds {} at least; {} bytes ({}) are available; use a "
            "smaller model or cohort, or raise training.clients_per_slot",
            config.model.name, count, count * sizeof(float),
            vectors > 1 ? fmt::format("{} models and updates", vectors) : "one", available, human_bytes(available)));
}

clients::Cut Experiment::make_cut(const LoadedConfig& loaded) const {
    if (config.mode.name != "split") return {};
    return blame(loaded, "mode.cut", [&] { return clients::cut_after(model, layout, config.mode.cut); });
}

std::unique_ptr<aggregation::Arena> Experiment::make_arena(const LoadedConfig& loaded) const {
    const std::uint64_t num_slots = mode.num_slots(slots);
    // For workers who have nothing else to do after the barrier, and slots that take long enough to sum.
    const bool shared = space == MemorySpace::Host && num_workers > 1 && mode.workers_may_sum() &&
                        num_slots * aggregation::ArenaGeometry::padded(layout.num_floats()) >= kSharedBytes;
    const aggregation::ArenaGeometry geometry{layout.num_floats(), num_slots, mode.num_globals(), exchange_floats(cut, config),
                                              shared ? 1U : 0U};
    if (space == MemorySpace::Cuda) {
        try {
            return std::make_unique<aggregation::CudaArena>(aggregation::cuda_driver(), geometry);
        } catch (const Fault& fault) {
            throw loaded.source->error("training.cohort", fmt::format("{}{}; use a smaller cohort or model, or raise "
                                                                      "training.clients_per_slot",
                                                                      fault.what(), describe_holders(nvml_holders())));
        }
    }
    const std::uint64_t available = this_machine().available_memory;
    if (geometry.total_bytes() > available)
        throw loaded.source->error(
            "training.cohort",
            fmt::format("the arena needs {} bytes ({}) for {} slots of {} floats, {} bytes ({}) are available; "
                        "use a smaller cohort or model, or raise training.clients_per_slot",
                        geometry.total_bytes(), human_bytes(geometry.total_bytes()), geometry.num_slots, geometry.num_floats,
                        available, human_bytes(available)));
    return std::make_unique<aggregation::HostArena>(geometry);
}

clients::WorkerPlan Experiment::plan_workers() const {
    clients::WorkerPlan plan;
    plan.training = {config.all_seeds().training, static_cast<std::uint64_t>(config.training.local_epochs),
                     static_cast<std::uint64_t>(config.training.batch_size), config.failures.max_update_norm.value_or(0.0)};
    plan.optimizer = sgd_options(config.training.optimizer);
    plan.model = model;
    plan.cut = cut;
    plan.all_reduce = config.mode.all_reduce == "star"   ? clients::AllReduce::Star
                      : config.mode.all_reduce == "ring" ? clients::AllReduce::Ring
                                                         : clients::AllReduce::Tree;
    plan.all_examples = mode.pass == Pass::All;
    plan.layout_fingerprint = layout.fingerprint();
    plan.arena = arena->geometry();
    plan.space = space;
    plan.arena_descriptor = arena->descriptor();
    plan.arena_handle = arena->handle();
    plan.data_descriptor = dataset.descriptor();
    plan.data = dataset.map();
    plan.normalization = clients::NormalizationPlan::of(config.data.normalize);
    plan.threads = static_cast<int>(config.threads);
    plan.clients_at_once = static_cast<std::uint64_t>(config.training.clients_at_once);
    plan.data_handle = data_handle;
    plan.precision = config.training.precision == "bf16"   ? clients::Precision::BF16
                     : config.training.precision == "tf32" ? clients::Precision::TF32
                                                           : clients::Precision::F32;
    plan.graph = config.training.graph && space == MemorySpace::Cuda;
    plan.help_for_updates.set(help_for_updates(config));
    return plan;
}

FleetOptions Experiment::fleet_options() const {
    FleetOptions options;
    options.workers = num_workers;
    options.slots = slots;
    options.mode = mode;
    if (config.clock == "virtual")
        options.round_trip_s = [this](std::uint32_t client, std::uint64_t examples, const Traffic& traffic) {
            return devices.round_trip_s(client, examples, traffic.down, traffic.up);
        };
    options.recorded_arrivals = recorded_arrivals;
    options.model_bytes = layout.num_values() * sizeof(float);
    options.activation_bytes = cut.activation_floats * sizeof(float);
    options.test_chunk = static_cast<std::uint64_t>(config.evaluation.chunk_size);
    options.failures = config.failures;
    options.help_for_model = help_for_model(config);
    options.faults = FaultSchedule(config.faults, config.all_seeds().sampling);
    return options;
}

}  // namespace fedhive::sim
