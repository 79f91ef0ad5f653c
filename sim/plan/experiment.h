// A loaded config made real: data read and dealt, model laid out, arena made. Everything a user can get wrong is found here, before a folder
// is created or a process started.
#pragma once

#include "aggregation/math/host_view.h"
#include "aggregation/memory/arena.h"
#include "aggregation/memory/cuda_arena.h"
#include "aggregation/memory/layout.h"
#include "clients/data/shared_dataset.h"
#include "clients/training/worker_plan.h"
#include "sim/config/config.h"
#include "sim/devices/devices.h"
#include "sim/fleet/fleet.h"
#include "sim/plan/worker_choice.h"
#include "sim/round/mode.h"
#include "sim/round/server_state.h"

#include <memory>
#include <vector>

namespace fedhive::sim {

/// What `device` comes to on this machine, "cpu" or "cuda". Throws ConfigError where there is no usable GPU and one is asked for.
std::string resolve_device(const LoadedConfig& loaded);

struct Experiment {
    /// Throws ConfigError (data, shapes, device, memory), with file and line where a key is to blame.
    explicit Experiment(const LoadedConfig& loaded);
    Experiment(const Experiment&) = delete;
    Experiment& operator=(const Experiment&) = delete;

    RunConfig config;
    aggregation::MemorySpace space;
    std::uint32_t num_workers;
    std::uint32_t most_workers = 0;  // that memory allows and there is work for, where the config leaves their number open
    WorkerChoice workers;            // how num_workers came about
    double rehearsed_step_s = 0.0;   // a local step on a GPU
    std::uint64_t data_fingerprint = 0;
    aggregation::IpcHandle data_handle;  // CUDA: the examples in device memory
    clients::SharedDataset dataset;
    clients::ModelSpec model;
    aggregation::Layout layout;
    clients::Cut cut;  // mode split
    Devices devices;
    std::vector<std::vector<std::uint32_t>> recorded_arrivals;  // per round; empty without config.arrivals
    Mode mode;
    SlotPlan slots;
    std::unique_ptr<aggregation::Arena> arena;
    Strategy strategy;
    ServerState server;
    clients::WorkerPlan worker_plan;

    /// Puts the model that round 1 starts from into the arena: that of model.init, or one drawn from the seed. Throws ConfigError where
    /// the file's tensors are not the model's.
    void load_first_model(const LoadedConfig& loaded) const;

    /// On a GPU: measures what one worker takes there, which need not train, and lets no more start than fit. Throws ConfigError where that is
    /// fewer than asked for.
    void fit_device(const LoadedConfig& loaded, bool trains = true);

    FleetOptions fleet_options() const;

    /// The published global model in host memory, [P]; to be read before the next server step.
    aggregation::HostView global_model() const { return aggregation::HostView(server.model()); }

private:
    void check_mps(const LoadedConfig& loaded) const;
    clients::SharedDataset load_data(const LoadedConfig& loaded);
    void require_model_memory(const LoadedConfig& loaded) const;
    aggregation::Layout lay_out(const LoadedConfig& loaded) const;
    clients::Cut make_cut(const LoadedConfig& loaded) const;
    std::unique_ptr<aggregation::Arena> make_arena(const LoadedConfig& loaded) const;
    clients::WorkerPlan plan_workers() const;
};

}  // namespace fedhive::sim
