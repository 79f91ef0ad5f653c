#include "sim/plan/experiment_model.h"

#include "aggregation/base/error.h"
#include "aggregation/memory/cuda_arena.h"
#include "aggregation/memory/host_arena.h"
#include "aggregation/memory/unnamed_file.h"
#include "clients/models/model_plan.h"
#include "clients/trainers/engine.h"
#include "sim/fleet/shared_aggregation.h"
#include "sim/machine/machine.h"
#include "sim/machine/nvml.h"
#include "sim/plan/blame.h"
#include "sim/plan/model_spec.h"
#include "sim/state/model_file.h"

namespace fedhive::sim {

using aggregation::MemorySpace;

namespace {

/// Floats of a batch's activations and of their gradient, each padded to a cache line.
std::uint64_t exchange_floats(const clients::Cut& cut, const RunConfig& run) {
    const std::uint64_t floats = cut.activation_floats * static_cast<std::uint64_t>(run.training.batch_size);
    return 2 * ((floats + 15) / 16 * 16);
}

/// The most clients that can take part in all rounds together.
std::uint64_t clients_seen(const RunConfig& run, std::uint64_t num_clients) {
    return std::min(num_clients, static_cast<std::uint64_t>(run.rounds) * static_cast<std::uint64_t>(run.cohort_size()));
}

/// Call before the model is built: filling billions of parameters takes a while, and their memory is known without.
void require_model_memory(const LoadedConfig& loaded, const clients::ModelSpec& model, MemorySpace space,
                          std::uint32_t num_workers) {
    const RunConfig& config = loaded.run;
    const double all = clients::num_parameters(model), frozen = clients::num_frozen(model), count = all - frozen;
    const std::uint64_t available = this_machine().available_memory;
    const double vectors_that_fit =
        (static_cast<double>(available) - frozen * sizeof(float)) / (std::max(count, 1.0) * sizeof(float));
    std::uint64_t vectors = 1;
    if (space == MemorySpace::Host && vectors_that_fit >= 1.0) {
        const Mode planned = make_mode(config);
        vectors = planned.num_globals() +
                  plan_slots(config, space, static_cast<std::uint64_t>(count), num_workers).num_slots(planned);
    }
    if (static_cast<double>(vectors) <= vectors_that_fit) return;
    throw loaded.source->error(
        vectors > 1 ? "training.cohort" : model_key(config),
        fmt::format("{} has {:.0f} parameters, {:.3g} bytes{}, and the arena needs at least {}; {} bytes ({}) are available; "
                    "use a smaller model or cohort, or raise training.clients_per_slot",
                    model.name.get(), count, count * sizeof(float),
                    frozen > 0 ? fmt::format(", besides {:.0f} frozen ones", frozen) : "",
                    vectors > 1 ? fmt::format("{} models and updates", vectors) : "one", available, human_bytes(available)));
}

}  // namespace

aggregation::Layout lay_out(const LoadedConfig& loaded, const clients::ModelSpec& model, MemorySpace space,
                            std::uint32_t num_workers) {
    require_model_memory(loaded, model, space, num_workers);
    return blame(loaded, model_key(loaded.run), [&] { return clients::model_layout(model); });
}

aggregation::Channels channels_of(const RunConfig& run, const aggregation::Layout& layout,
                                  const clients::LocalPart& local_part) {
    aggregation::Channels channels;
    const auto add = [&](const std::vector<aggregation::ChannelSpec>& specs) {
        for (const aggregation::ChannelSpec& spec : specs) channels.add(spec, layout.num_trainable());
    };
    add(local_rule_spec(parts_of(run.strategy.name, run.strategy.parts).local.name).channels);
    for (const Chosen& step : run.upload) add(entry_of(clients::upload_catalog(), step.name, "step of an upload").channels);
    if (!local_part.empty())
        channels.add({.name = aggregation::kLocal, .commit = aggregation::Commit::Set}, local_part.num_floats());
    return channels;
}

aggregation::Layout what_travels(const aggregation::Channels& channels, const aggregation::Layout& layout) {
    aggregation::Layout travels = layout;
    for (const aggregation::Channel& channel : channels.all())
        for (const aggregation::LayoutEntry& entry : layout.entries())
            if (channel.travels() && entry.kind == aggregation::TensorKind::Parameter)
                travels.add(fmt::format("{}.{}", channel.name(), entry.name), entry.shape, aggregation::TensorKind::Buffer);
    FEDHIVE_CHECK_EQ(travels.num_floats(), layout.num_floats() + channels.floats_behind());
    return travels;
}

std::uint64_t client_state_bytes(const RunConfig& run, const aggregation::Channels& channels, std::uint64_t num_clients) {
    const aggregation::Channel* kept = channels.committed();
    return kept == nullptr ? 0 : clients_seen(run, num_clients) * aggregation::ClientStates::bytes_each(kept->floats);
}

std::filesystem::path existing_folder(const std::filesystem::path& folder) {
    if (folder.empty()) return folder;
    std::error_code error;
    std::filesystem::path found = std::filesystem::absolute(folder, error).lexically_normal();
    while (!std::filesystem::is_directory(found, error) && found.has_relative_path()) found = found.parent_path();
    return found;
}

namespace {

/// The part that keeps client state, its key, and the advice to do without it.
struct KeepsState {
    const char* key;
    std::string who;
    const char* instead;
};

KeepsState who_keeps(const RunConfig& run) {
    if (run.model.has_local_part()) return {"model.local", "model.local", "fewer patterns"};
    if (run.keeps_residual()) return {"upload", "'error_feedback'", "remove it"};
    return {"strategy.name", fmt::format("strategy '{}'", run.strategy.name), "another strategy"};
}

/// "strategy 'scaffold' keeps 400 bytes (400 B) for each client that is seen, of up to 10 clients 4000 bytes (4 KB)"
std::string what_is_kept(const RunConfig& run, std::uint64_t each, std::uint64_t seen) {
    return fmt::format("{} stores {} bytes ({}) for each client that takes part, for up to {} clients {} bytes ({})",
                       who_keeps(run).who, each, human_bytes(each), seen, seen * each, human_bytes(seen * each));
}

aggregation::ClientStates make_states_in(const std::filesystem::path& folder, const LoadedConfig& loaded, std::uint64_t floats,
                                         std::uint64_t num_clients) {
    const std::uint64_t each = aggregation::ClientStates::bytes_each(floats), seen = clients_seen(loaded.run, num_clients);
    if (aggregation::lies_in_memory(folder))
        throw loaded.source->error("client_state",
                                   fmt::format("{} is in main memory itself (tmpfs), and so would be a file there; set memory, "
                                               "or put the run's folder on a disk with --out",
                                               folder.string()));
    if (const std::uint64_t free = aggregation::free_disk_bytes(folder); seen > free / each)
        throw loaded.source->error(
            "client_state", fmt::format("{}; on the disk of {} {} bytes ({}) are free; free space there, put the run's folder "
                                        "on another disk (--out), or use fewer clients or rounds, a smaller model or {}",
                                        what_is_kept(loaded.run, each, seen), folder.string(), free, human_bytes(free),
                                        who_keeps(loaded.run).instead));
    return blame(loaded, "client_state", [&] {
        try {
            return aggregation::ClientStates::create_in(folder, num_clients, floats);
        } catch (const Fault& fault) {
            throw ConfigError(fmt::format("{}; set memory, or put the run's folder elsewhere with --out", fault.what()));
        }
    });
}

}  // namespace

aggregation::ClientStates make_client_states(const LoadedConfig& loaded, const aggregation::Channels& channels,
                                             std::uint64_t num_clients, const Ranks& ranks,
                                             const std::filesystem::path& folder) {
    if (channels.committed() == nullptr) return {};
    const std::uint64_t floats = channels.committed()->floats;
    if (loaded.run.client_state == "file" && !folder.empty())
        return make_states_in(existing_folder(folder), loaded, floats, num_clients);
    const std::uint64_t each = aggregation::ClientStates::bytes_each(floats), seen = clients_seen(loaded.run, num_clients);
    const std::uint64_t available = this_machine().available_memory;
    if (loaded.run.client_state == "memory" && seen > available / (ranks.is_alone() ? 1 : 2) / each)
        throw loaded.source->error(
            who_keeps(loaded.run).key,
            fmt::format("{}{}; {} bytes ({}) of memory are available; use fewer clients or rounds, a smaller model or {}, or "
                        "store it on the disk of the run's folder with client_state: file",
                        what_is_kept(loaded.run, each, seen),
                        ranks.is_alone() ? "" : ", and twice that while ranks resume a run", available, human_bytes(available),
                        who_keeps(loaded.run).instead));
    return aggregation::ClientStates::create(num_clients, floats);
}

clients::Cut make_cut(const LoadedConfig& loaded, const clients::ModelSpec& model, const aggregation::Layout& layout) {
    const Values& mode = loaded.run.mode.values;
    if (mode.find("cut") == nullptr) return {};
    if (model.target.kind != clients::TargetKind::Class)
        throw loaded.source->error("mode.name", fmt::format("in mode '{}' the server needs one class per example, but task "
                                                            "'{}' has {} here; allowed with this task: any other mode",
                                                            loaded.run.mode.name, loaded.run.task, text_of(model.target.kind)));
    if (clients::num_frozen(model) > 0)
        throw loaded.source->error(
            "mode.name", fmt::format("mode '{}' needs a model without frozen parameters, but {} some as frozen; allowed with "
                                     "frozen parameters: any other mode",
                                     loaded.run.mode.name, model.frozen.any() ? "model.frozen names" : "model.file has"));
    return blame(loaded, "mode.cut", [&] { return clients::cut_after(model, layout, mode.word("cut")); });
}

std::unique_ptr<aggregation::Arena> make_arena(const LoadedConfig& loaded, MemorySpace space, std::uint32_t num_workers,
                                               const Mode& mode, const SlotPlan& slots, const aggregation::Layout& layout,
                                               const clients::Cut& cut, std::uint64_t frozen_floats,
                                               const aggregation::Channels& channels) {
    const std::uint64_t num_slots = slots.num_slots(mode);
    // For workers that are idle after the barrier, and slots large enough to be worth it.
    const bool shared = space == MemorySpace::Host && num_workers > 1 && mode.workers_may_sum() &&
                        num_slots * aggregation::ArenaGeometry::padded(layout.num_floats()) >= kSharedBytes;
    const aggregation::ArenaGeometry geometry{
        layout.num_floats(), num_slots,     mode.num_globals(),    exchange_floats(cut, loaded.run),
        shared ? 1U : 0U,    frozen_floats, channels.kept_floats()};
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
        throw loaded.source->error("training.cohort",
                                   fmt::format("the arena needs {} bytes ({}) for {} slots of {} floats, but {} bytes ({}) are "
                                               "available; use a smaller cohort or model, or raise training.clients_per_slot",
                                               geometry.total_bytes(), human_bytes(geometry.total_bytes()), geometry.num_slots,
                                               geometry.num_floats, available, human_bytes(available)));
    return std::make_unique<aggregation::HostArena>(geometry);
}

FirstModel parted(const clients::ModelSpec& model, const std::vector<float>& whole) {
    const aggregation::Layout layout = clients::whole_layout(model);
    return {aggregation::part_of(layout, whole, clients::model_layout(model)),
            aggregation::part_of(layout, whole, clients::frozen_layout(model))};
}

FirstModel first_model(const LoadedConfig& loaded, const clients::ModelSpec& model) {
    const aggregation::Layout layout = clients::whole_layout(model);
    const std::filesystem::path& file = loaded.run.model.init;
    if (!file.empty())
        return parted(model,
                      blame(loaded, "model.init", [&] { return read_model(file, layout, clients::other_tensors(model)); }));
    std::vector<float> first(layout.num_floats(), 0.0F);
    clients::initial_parameters(model, layout, loaded.run.all_seeds().model, first);
    return parted(model, first);
}

}  // namespace fedhive::sim
