// Builds an experiment from a loaded config: data loaded and partitioned, model laid out, arena allocated. Finds every mistake
// a user can make before a folder is created or a process started.
#pragma once

#include "clients/trainers/worker_plan.h"
#include "sim/config/loaded_config.h"
#include "sim/devices/devices.h"
#include "sim/fleet/fleet_options.h"
#include "sim/modes/mode.h"
#include "sim/plan/experiment_data.h"
#include "sim/plan/model_setup.h"
#include "sim/plan/resources.h"
#include "sim/plan/server_side.h"
#include "sim/plan/worker_choice.h"
#include "sim/ranks/ranks.h"
#include "sim/round/sampling.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::sim {

struct Experiment {
    /// Sets the model that an experiment begins with, and, for a resumed run, its progress. May throw ConfigError.
    using Begin = std::function<void(Experiment& run)>;

    // One constructor for each purpose. All throw ConfigError (data, shapes, device, memory), with file and line if a key is to blame;
    // Interrupted after a signal.

    /// From round 1, with the model of model.init or one drawn from the seed. On a GPU, measures one worker's memory and starts
    /// no more workers than fit. With `workers: auto` their number is chosen for the rounds up to `until`. Collective: with several
    /// ranks, each of them calls it. `folder`: the run's, which may not exist yet; if the config wants client
    /// state in a file, it is on that folder's disk; empty: client state is in memory in any case.
    static Experiment to_run(const LoadedConfig& loaded, std::int64_t until, Ranks& ranks = Ranks::alone(),
                             const std::filesystem::path& folder = {});
    /// From the state that `begin` sets; `before`: the workers of the run so far.
    static Experiment to_resume(const LoadedConfig& loaded, const Begin& begin, std::int64_t until,
                                const std::optional<WorkerChoice>& before, Ranks& ranks = Ranks::alone(),
                                const std::filesystem::path& folder = {});
    /// Trains clients of a run again, in this process. Does not check that the recorded arrivals suffice for all rounds.
    static Experiment to_replay(const LoadedConfig& loaded, const Begin& begin, const std::filesystem::path& folder = {});
    /// For workers that only evaluate.
    static Experiment to_evaluate(const LoadedConfig& loaded, const Begin& begin);
    /// As to_run(), but starts no worker: checks whether the run would start, and what it would take. `num_ranks`: the number
    /// of ranks that would run it, though only this one may exist.
    static Experiment to_inspect(const LoadedConfig& loaded, Ranks& ranks = Ranks::alone(), std::uint32_t num_ranks = 1);

    Ranks& ranks;
    RunConfig config;                // names the device that is used
    Device asked;                    // the one that the config asks for
    std::vector<std::string> notes;  // LoadedConfig::notes
    Mode mode;
    Devices devices;
    std::vector<std::vector<std::uint32_t>> recorded_arrivals;  // per round; empty without config.arrivals
    std::vector<std::uint32_t> evaluated_clients;               // ascending; empty: no evaluation on clients
    ExperimentData data;
    ModelSetup model;
    Resources resources;
    ServerSide server;
    std::unique_ptr<Sampler> sampler;
    clients::WorkerPlan worker_plan;

    /// For a Begin: publishes the first model of round 1.
    void begin_anew(const LoadedConfig& loaded) const;

    /// Valid as long as this experiment.
    FleetOptions fleet_options() const;

    /// Probable mistakes, with keys; about the data only if this rank has read them.
    std::vector<std::string> warnings() const;
};

}  // namespace fedhive::sim
