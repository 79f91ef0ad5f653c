#include "sim/plan/engine_choice.h"

#include "aggregation/math/client_optimizer.h"
#include "clients/direct/device/plan.h"
#include "clients/direct/network.h"
#include "clients/models/model_plan.h"
#include "clients/training/device_network.h"
#include "clients/training/engine.h"
#include "clients/training/libtorch_info.h"
#include "sim/strategies/strategy.h"

#include <fmt/format.h>

namespace fedhive::sim {

namespace {

/// What stands in the direct engine's way, after "the direct engine "; empty: nothing.
std::string obstacle(const RunConfig& run, aggregation::MemorySpace space, const clients::ModelSpec& model,
                     const clients::Cut& cut) {
    const TrainingConfig& training = run.training;
    const bool on_gpu = space == aggregation::MemorySpace::Cuda;
    if (cut.activation_floats > 0) return fmt::format("cuts no model in two, as mode '{}' does", run.mode.name);
    if (training.clients_at_once > 1)
        return fmt::format("trains one client at a time, and training.clients_at_once is {}", training.clients_at_once);
    if (run.threads > 1) return fmt::format("has one thread a worker, and threads is {}", run.threads);
    if (model.is_graph()) return "trains lists of layers, and model.file is a graph";
    if (clients::num_frozen(model) > 0)
        return fmt::format("trains all parameters, and {} some that stay",
                           model.frozen.any() ? "model.frozen names" : "model.file has");
    if (model.target.kind == clients::TargetKind::ClassEach)
        return fmt::format("tells one class of an example, or numbers, and task '{}' {}", run.task, text_of(model.target.kind));
    if (training.precision == "bf16" || (on_gpu && training.precision == "tf32"))
        return fmt::format("computes in f32, and training.precision is {}", training.precision);
    if (on_gpu && training.graph) return "records no step, and training.graph is true";
    if (const std::string layer = clients::direct::misfit(model); !layer.empty()) return "has no " + layer;
    return on_gpu ? clients::direct::device::too_large(model, clients::shared_bytes_of_device()) : "";
}

}  // namespace

std::string name_of(clients::Engine engine) { return clients::kEngineNames.at(static_cast<std::size_t>(engine)); }

bool trains_in_blocks(const RunConfig& run, aggregation::MemorySpace space, clients::Engine engine) {
    return engine == clients::Engine::Direct && space == aggregation::MemorySpace::Cuda &&
           aggregation::optimizer_spec(run.training.optimizer.name).sgd_steps && !run.training.clip_norm &&
           !run.strategy.client_state() && !run.model.has_local_part();
}

std::string direct_kernels(aggregation::MemorySpace space) {
    return space == aggregation::MemorySpace::Cuda ? "cuda" : std::string(clients::direct::kernels().name);
}

clients::Engine choose_engine(const LoadedConfig& loaded, aggregation::MemorySpace space, const clients::ModelSpec& model,
                              const clients::Cut& cut) {
    const std::string& wanted = loaded.run.training.engine;
    // Whether there is what an engine needs is found out here, not by a worker.
    const auto libtorch = [] {
        clients::libtorch_engine();
        return clients::Engine::Libtorch;
    };
    if (wanted == "libtorch") return libtorch();
    const std::string in_the_way = obstacle(loaded.run, space, model, cut);
    const bool on_gpu = space == aggregation::MemorySpace::Cuda;
    if (in_the_way.empty()) {
        if (!on_gpu) clients::direct::kernels();  // the environment may name others than there are
        return clients::Engine::Direct;
    }
    if (on_gpu && clients::libtorch_cuda_devices() == 0)
        throw loaded.source->error(
            "device", fmt::format("the direct engine {}, and {}: use device: cpu, or run scripts/setup --cuda and build again",
                                  in_the_way,
                                  clients::libtorch_info().cuda_built ? "LibTorch cannot use the GPU"
                                                                      : "this build has no other training on CUDA"));
    if (wanted == "direct")
        throw loaded.source->error("training.engine",
                                   fmt::format("the direct engine {}; allowed here: auto, libtorch", in_the_way));
    return libtorch();
}

}  // namespace fedhive::sim
