// A loaded config made real: data read and dealt, model laid out, arena made. Everything a user can get wrong is found here, before a folder
// is created or a process started.
#pragma once

#include "aggregation/math/host_view.h"
#include "aggregation/memory/arena.h"
#include "aggregation/memory/channels.h"
#include "aggregation/memory/client_states.h"
#include "aggregation/memory/cuda_arena.h"
#include "aggregation/memory/layout.h"
#include "clients/data/shared_dataset.h"
#include "clients/training/worker_plan.h"
#include "sim/config/config.h"
#include "sim/devices/devices.h"
#include "sim/fleet/fleet.h"
#include "sim/plan/engine_choice.h"
#include "sim/plan/experiment_data.h"
#include "sim/plan/resources.h"
#include "sim/plan/worker_choice.h"
#include "sim/round/missing_noise.h"
#include "sim/round/mode.h"
#include "sim/round/server_state.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace fedhive::sim {

struct Experiment {
    /// Puts the model that an experiment begins with into it, and, where a run is taken up, how far it had come. May throw ConfigError.
    using Begin = std::function<void(Experiment& run)>;

    // One way in for each purpose. All throw ConfigError (data, shapes, device, memory), with file and line where a key is to blame;
    // Interrupted after a signal.

    /// From round 1, with the model of model.init or one drawn from the seed. On a GPU what one worker takes there is measured, and no more
    /// start than fit; a number of workers that is left open is chosen for the rounds up to `until`.
    /// Where there are several ranks, all of them make theirs. `folder`: the run's, whether it is there or not, on whose disk what clients keep
    /// lies where the config wants a file; empty: in memory in any case.
    static Experiment to_run(const LoadedConfig& loaded, std::int64_t until, Ranks& ranks = Ranks::alone(),
                             const std::filesystem::path& folder = {});
    /// From where `begin` puts it; `before`: the workers of the run so far.
    static Experiment to_resume(const LoadedConfig& loaded, const Begin& begin, std::int64_t until,
                                const std::optional<WorkerChoice>& before, Ranks& ranks = Ranks::alone(),
                                const std::filesystem::path& folder = {});
    /// To train again what a run has trained, in this process; whether the recorded arrivals last for all of its rounds is not asked.
    static Experiment to_replay(const LoadedConfig& loaded, const Begin& begin, const std::filesystem::path& folder = {});
    /// For workers that only evaluate.
    static Experiment to_evaluate(const LoadedConfig& loaded, const Begin& begin);
    /// As to_run(), but nobody will be started: to see whether it would be, and what it would take. `num_ranks`: of as many as would run it, of
    /// which there may be this one only.
    static Experiment to_inspect(const LoadedConfig& loaded, Ranks& ranks = Ranks::alone(), std::uint32_t num_ranks = 1);

    Experiment(const Experiment&) = delete;
    Experiment& operator=(const Experiment&) = delete;

    Ranks& ranks;
    RunConfig config;
    aggregation::MemorySpace space;
    std::uint32_t num_workers;
    std::uint32_t most_workers = 0;  // that memory allows and there is work for, where the config leaves their number open
    WorkerChoice workers;            // how num_workers came about
    double rehearsed_step_s = 0.0;   // a local step on a GPU
    std::uint64_t data_fingerprint = 0;
    std::uint64_t partition_fingerprint = 0;
    aggregation::IpcHandle data_handle;  // CUDA: the examples in device memory
    clients::SharedDataset dataset;
    clients::exported::ModelFile model_file;  // of model.file
    clients::ModelSpec model;
    aggregation::Layout layout;      // of the model, without what is frozen
    aggregation::Layout frozen;      // of that
    clients::LocalPart local_part;   // of the layout, where every client has its own
    aggregation::Channels channels;  // what travels beside the model, and what clients keep
    aggregation::Layout travels;     // of a region of the arena: the model, and the channels that travel behind it
    clients::Cut cut;                // mode split
    EngineChoice engine_choice;
    clients::Engine engine;  // that of the choice
    Devices devices;
    std::vector<std::vector<std::uint32_t>> recorded_arrivals;  // per round; empty without config.arrivals
    Mode mode;
    SlotPlan slots;
    std::vector<std::uint32_t> evaluated_clients;  // on their held-out examples, ascending; empty: nobody is
    std::unique_ptr<aggregation::Arena> arena;
    Strategy strategy;
    aggregation::ClientStates client_states;  // where clients keep something
    ServerState server;
    clients::WorkerPlan worker_plan;
    MissingNoise missing_noise;
    std::vector<std::string> owners;    // of each client, as the data name it, on rank 0; empty: nobody has a name
    std::vector<std::string> warnings;  // what looks like a mistake, with keys; of the data only where this rank has read them

    /// For a Begin: publishes the model that round 1 starts from, or these parameters, [P], beside what is frozen, [F].
    void begin_anew(const LoadedConfig& loaded) const;
    void begin_with(aggregation::ConstParamSpan parameters, aggregation::ConstParamSpan frozen_values = {}) const;

    FleetOptions fleet_options() const;

    /// After a server step, before the slots are free again: each client that was accepted keeps what its update says it will, with the rank that
    /// trains it.
    void keep_states(const Arrivals& arrived);

    /// With fewer than this a round makes no server step.
    std::uint64_t least_updates() const {
        return std::max(static_cast<std::uint64_t>(config.failures.min_updates), strategy.aggregator->least_updates());
    }

    /// Before a checkpoint: what clients keep comes to rank 0. To be called by all ranks. Throws as Ranks::exchange.
    void bring_states();

    /// The published global model in host memory, [P]; to be read before the next server step.
    aggregation::HostView global_model() const { return aggregation::HostView(server.model()); }

    /// And what is frozen, [F].
    aggregation::HostView frozen_values() const { return aggregation::HostView(arena->frozen()); }

private:
    /// What the device is asked before anybody starts.
    enum class Device { Unused, Evaluates, Trains };
    struct Purpose {
        Begin begin{};          // empty: from round 1
        bool arrivals = false;  // the recorded ones must last
        Device device = Device::Unused;
        std::int64_t until = 0;
        std::optional<WorkerChoice> before{};
        Ranks& ranks = Ranks::alone();
        std::uint32_t num_ranks = 1;  // that there would be, where this one is alone
        std::filesystem::path folder{};
    };
    Experiment(const LoadedConfig& loaded, const Purpose& purpose);
    Experiment(const LoadedConfig& loaded, const Purpose& purpose, const Resources& resources);
    Experiment(const LoadedConfig& loaded, const Purpose& purpose, const Resources& resources, ExperimentData&& data);
    /// Of a config in which the number of clients is known.
    Experiment(const LoadedConfig& loaded, const Purpose& purpose, ExperimentData&& data, const Resources& resources);

    std::uint32_t workers_of_all_ranks(const LoadedConfig& loaded, std::uint32_t num_ranks) const;
    std::uint64_t device_bytes_of_ranks() const;
    void fit_device(const LoadedConfig& loaded, bool trains);
    void settle_workers(std::int64_t until, const std::optional<WorkerChoice>& before);
    clients::WorkerPlan plan_workers() const;
};

}  // namespace fedhive::sim
