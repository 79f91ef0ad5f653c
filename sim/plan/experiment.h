// Builds an experiment from a loaded config: data loaded and partitioned, model laid out, arena allocated. Finds every mistake
// a user can make before a folder is created or a process started.
#pragma once

#include "aggregation/math/host_view.h"
#include "aggregation/memory/arena.h"
#include "aggregation/memory/client_states.h"
#include "aggregation/memory/cuda_arena.h"
#include "aggregation/memory/layout.h"
#include "aggregation/memory/memories.h"
#include "clients/data/shared_dataset.h"
#include "clients/trainers/worker_plan.h"
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
    /// Sets the model that an experiment begins with, and, for a resumed run, its progress. May throw ConfigError.
    using Begin = std::function<void(Experiment& run)>;

    // One constructor per purpose. All throw ConfigError (data, shapes, device, memory), with file and line if a key is to
    // blame; Interrupted after a signal.

    /// From round 1, with the model of model.init or one drawn from the seed. On a GPU, measures one worker's memory and starts
    /// no more workers than fit. A number of workers that is left open is chosen for the rounds up to `until`. Collective: with
    /// several ranks, all of them construct theirs. `folder`: the run's, which may not exist yet; if the config wants client
    /// state in a file, it is on that folder's disk; empty: client state is in memory in any case.
    static Experiment to_run(const LoadedConfig& loaded, std::int64_t until, Ranks& ranks = Ranks::alone(),
                             const std::filesystem::path& folder = {});
    /// From the state that `begin` sets; `before`: the workers of the run so far.
    static Experiment to_resume(const LoadedConfig& loaded, const Begin& begin, std::int64_t until,
                                const std::optional<WorkerChoice>& before, Ranks& ranks = Ranks::alone(),
                                const std::filesystem::path& folder = {});
    /// Trains again, in this process, what a run has trained. Does not check that the recorded arrivals suffice for all rounds.
    static Experiment to_replay(const LoadedConfig& loaded, const Begin& begin, const std::filesystem::path& folder = {});
    /// For workers that only evaluate.
    static Experiment to_evaluate(const LoadedConfig& loaded, const Begin& begin);
    /// As to_run(), but starts no worker: checks whether the run would start, and what it would take. `num_ranks`: the number
    /// of ranks that would run it, though only this one may exist.
    static Experiment to_inspect(const LoadedConfig& loaded, Ranks& ranks = Ranks::alone(), std::uint32_t num_ranks = 1);

    Experiment(const Experiment&) = delete;
    Experiment& operator=(const Experiment&) = delete;

    Ranks& ranks;
    RunConfig config;
    aggregation::MemorySpace space;
    std::uint32_t num_workers;
    std::uint32_t most_workers = 0;  // memory and tasks allow at most this many, if the config leaves the number open
    WorkerChoice workers;            // how num_workers came about
    double rehearsed_step_s = 0.0;   // seconds of a local step on a GPU
    std::uint64_t data_fingerprint = 0;
    std::uint64_t partition_fingerprint = 0;
    aggregation::IpcHandle data_handle;  // CUDA: the examples in device memory
    clients::SharedDataset dataset;
    clients::exported::ModelFile model_file;  // of model.file
    clients::ModelSpec model;
    aggregation::Layout layout;      // of the trained model, without frozen parameters
    aggregation::Layout frozen;      // of the frozen parameters
    clients::LocalPart local_part;   // the part of the layout that is each client's own
    aggregation::Memories memories;  // beside the model, those that clients keep among them
    aggregation::Layout travels;     // of an arena region: the model, and the memories that travel behind it
    clients::Cut cut;                // mode split
    EngineChoice engine_choice;
    clients::Engine engine;  // that of the choice
    Devices devices;
    std::vector<std::vector<std::uint32_t>> recorded_arrivals;  // per round; empty without config.arrivals
    Mode mode;
    SlotPlan slots;
    std::vector<std::uint32_t> evaluated_clients;  // ascending; empty: no evaluation on clients
    std::unique_ptr<aggregation::Arena> arena;
    Strategy strategy;
    aggregation::ClientStates client_states;  // if clients keep state
    ServerState server;
    clients::WorkerPlan worker_plan;
    MissingNoise missing_noise;
    std::vector<std::string> owners;    // per client, by the data, on rank 0; empty: no names
    std::vector<std::string> warnings;  // probable mistakes, with keys; about the data only if this rank has read them

    /// For a Begin: publishes the first model of round 1, or the given parameters, [P], with frozen values [F].
    void begin_anew(const LoadedConfig& loaded) const;
    void begin_with(aggregation::ConstParamSpan parameters, aggregation::ConstParamSpan frozen_values = {}) const;

    FleetOptions fleet_options() const;

    /// Call after a server step and before the slots are freed: on the rank that trains it, each accepted client's memories are
    /// changed by what its visit wrote.
    void keep_states(const Arrivals& arrived);

    /// With fewer updates a round makes no server step.
    std::uint64_t least_updates() const {
        return std::max(static_cast<std::uint64_t>(config.failures.min_updates), strategy.aggregator->least_updates());
    }

    /// Collective, before a checkpoint: brings the clients' state to rank 0. Throws as Ranks::exchange.
    void bring_states();

    /// The published global model in host memory, [P]; valid until the next server step.
    aggregation::HostView global_model() const { return aggregation::HostView(server.model()); }

    /// The frozen parameters in host memory, [F].
    aggregation::HostView frozen_values() const { return aggregation::HostView(arena->frozen()); }

private:
    /// How the device is checked before any worker starts.
    enum class Device { Unused, Evaluates, Trains };
    struct Purpose {
        Begin begin{};          // empty: from round 1
        bool arrivals = false;  // the recorded arrivals must suffice
        Device device = Device::Unused;
        std::int64_t until = 0;
        std::optional<WorkerChoice> before{};
        Ranks& ranks = Ranks::alone();
        std::uint32_t num_ranks = 1;  // intended number of ranks, if this one is alone
        std::filesystem::path folder{};
    };
    Experiment(const LoadedConfig& loaded, const Purpose& purpose);
    Experiment(const LoadedConfig& loaded, const Purpose& purpose, const Resources& resources);
    Experiment(const LoadedConfig& loaded, const Purpose& purpose, const Resources& resources, ExperimentData&& data);
    /// With the number of clients known.
    Experiment(const LoadedConfig& loaded, const Purpose& purpose, ExperimentData&& data, const Resources& resources);

    std::uint32_t workers_of_all_ranks(const LoadedConfig& loaded, std::uint32_t num_ranks) const;
    std::uint64_t device_bytes_of_ranks() const;
    void fit_device(const LoadedConfig& loaded, bool trains);
    void settle_workers(std::int64_t until, const std::optional<WorkerChoice>& before);
    clients::WorkerPlan plan_workers() const;
};

}  // namespace fedhive::sim
