#include "sim/plan/engine_choice.h"

#include "clients/direct/network.h"
#include "clients/training/engine.h"

#include <fmt/format.h>

namespace fedhive::sim {

namespace {

/// What stands in the direct engine's way, after "the direct engine "; empty: nothing.
std::string obstacle(const RunConfig& run, aggregation::MemorySpace space, const clients::ModelSpec& model,
                     const clients::Cut& cut) {
    const TrainingConfig& training = run.training;
    if (space != aggregation::MemorySpace::Host) return "runs on the CPU, and this experiment runs on a GPU";
    if (cut.activation_floats > 0) return fmt::format("cuts no model in two, as mode '{}' does", run.mode.name);
    if (training.clients_at_once > 1)
        return fmt::format("trains one client at a time, and training.clients_at_once is {}", training.clients_at_once);
    if (run.threads > 1) return fmt::format("has one thread a worker, and threads is {}", run.threads);
    if (model.exported.given()) return "trains lists of layers, and model.file is a graph";
    if (training.precision == "bf16") return "computes in f32, and training.precision is bf16";
    if (const std::string layer = clients::direct::misfit(model); !layer.empty()) return "has no " + layer;
    return "";
}

}  // namespace

std::string name_of(clients::Engine engine) { return engine == clients::Engine::Direct ? "direct" : "libtorch"; }

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
    if (in_the_way.empty()) {
        clients::direct::kernels();  // the environment may name others than there are
        return clients::Engine::Direct;
    }
    if (wanted == "direct")
        throw loaded.source->error("training.engine",
                                   fmt::format("the direct engine {}; allowed here: auto, libtorch", in_the_way));
    return libtorch();
}

}  // namespace fedhive::sim
