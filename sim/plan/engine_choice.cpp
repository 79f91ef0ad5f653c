#include "sim/plan/engine_choice.h"

#include "aggregation/math/client_optimizer.h"
#include "clients/direct/device/block_plan.h"
#include "clients/direct/network.h"
#include "clients/engine/device_network.h"
#include "clients/models/feature_layer.h"
#include "clients/models/model_plan.h"
#include "clients/tasks/output_loss.h"
#include "clients/trainers/engine.h"
#include "clients/trainers/libtorch_info.h"
#include "sim/strategies/strategy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace fedhive::sim {

namespace {

using clients::Feature;

/// A feature that the run asks for, and the text, after an engine's name, about an engine that lacks it.
struct Asked {
    Feature feature;
    std::string lack;
};
using AllAsked = std::vector<Asked>;

// Each of the next four functions names every field of its argument: a new field does not compile before it is named here, with
// its feature or without one. Without: the loss, which every engine computes by the same formula, and measures, which need only an
// evaluation. An engine has a feature if its list names it (clients/engine/features.cpp).

/// The needs of the method's loss, with the run's keys.
clients::LossNeeds loss_of(const RunConfig& run) {
    const StrategyConfig& strategy = run.strategy;
    return clients::loss_needs(make_strategy(strategy.name, strategy.weighting, strategy.parts).method);
}

void ask_for_steps(const RunConfig& run, bool on_gpu, AllAsked& asked) {
    const auto& [cohort, participation, local_epochs, local_steps, batch_size, clients_per_slot, clients_at_once, engine,
                 precision, graph, optimizer, clip_norm, lr_schedule, loss, measure] = run.training;
    if (clients_at_once > 1)
        asked.push_back({Feature::ClientsAtOnce,
                         fmt::format("trains one client at a time, but training.clients_at_once is {}", clients_at_once)});
    if (run.threads > 1)
        asked.push_back({Feature::Threads, fmt::format("uses one thread per worker, but threads is {}", run.threads)});
    const std::string in_f32 = fmt::format("computes in f32, but training.precision is {}", word_of(precision));
    if (precision == clients::Precision::BF16) asked.push_back({Feature::BFloat16, in_f32});
    if (precision == clients::Precision::TF32 && on_gpu) asked.push_back({Feature::TensorFloat32, in_f32});
    if (graph && on_gpu) asked.push_back({Feature::RecordedSteps, "does not record steps, but training.graph is true"});
    if (!aggregation::optimizer_spec(optimizer.name).sgd_steps)
        asked.push_back({Feature::Optimizer, fmt::format("supports only SGD, but training.optimizer is {}", optimizer.name)});
    if (clip_norm) asked.push_back({Feature::ClippedGradient, "does not clip gradients, but training.clip_norm is given"});
}

void ask_for_objective(const RunConfig& run, AllAsked& asked) {
    const StrategyConfig& strategy = run.strategy;
    asked.push_back({Feature::RateOfRound, "supports only one client rate for all rounds"});
    if (const auto formulas = strategy.formulas(); formulas.changes_visits())
        asked.push_back({formulas.changes_elements() ? Feature::ElementFormula : Feature::GradientFormula,
                         fmt::format("does not evaluate {}formulas, but strategy '{}' has {} for its clients",
                                     formulas.changes_elements() ? "" : "such ", strategy.title(),
                                     formulas.changes_elements() ? "some" : "some that are not of each element alone")});
    if (loss_of(run).formula)
        asked.push_back(
            {Feature::LossFormula,
             fmt::format("computes losses of its own, but strategy '{}' has a formula for its loss", strategy.title())});
    if (loss_of(run).answers)
        asked.push_back({Feature::LossFormula,
                         fmt::format("tells nothing of single examples, but strategy '{}' measures them", strategy.title())});
}

void ask_for_targets(const RunConfig& run, const clients::TargetShape& target, AllAsked& asked) {
    const auto& [kind, width, ignores] = target;
    const std::array features{Feature::OneClass, Feature::ClassEach, Feature::Numbers};  // in the order of TargetKind
    asked.push_back({features.at(static_cast<std::size_t>(kind)),
                     fmt::format("supports {}, but task '{}' has {}",
                                 kind == clients::TargetKind::ClassEach ? "one class per example, or numbers" : "other targets",
                                 run.task, text_of(kind))});
    if (ignores)
        asked.push_back({Feature::IgnoredTargets,
                         fmt::format("does not support ignored targets, but the data have targets of {}", clients::kIgnored)});
}

void ask_for_model(const clients::ModelSpec& model, AllAsked& asked) {
    const auto& [name, input, num_classes, layers, exported, target, frozen, local, as_layers] = model;
    if (model.is_graph())
        asked.push_back({Feature::Graph, "trains lists of layers, but model.file is a graph"});
    else
        asked.push_back({Feature::Layers, "does not train lists of layers"});
    if (clients::num_frozen(model) > 0)
        asked.push_back({Feature::FrozenParameters, fmt::format("trains all parameters, but {} some as frozen",
                                                                frozen.any() ? "model.frozen names" : "model.file has")});
    if (local.any())
        asked.push_back({Feature::OwnParts, "has one model for all clients, but model.local keeps parts on each client"});
}

AllAsked all_asked(const RunConfig& run, bool on_gpu, const clients::ModelSpec& model, const clients::Cut& cut) {
    AllAsked asked;
    if (cut.activation_floats > 0)
        asked.push_back({Feature::Halves, fmt::format("does not cut models, but mode '{}' does", run.mode.name)});
    ask_for_model(model, asked);
    ask_for_targets(run, model.target, asked);
    ask_for_steps(run, on_gpu, asked);
    ask_for_objective(run, asked);
    return asked;
}

clients::Features features_of(const AllAsked& asked) {
    clients::Features features;
    for (const Asked& one : asked) features.add(one.feature);
    return features;
}

/// The `lack` of the first feature that the engine lacks; empty if it has all.
std::string lack_of(clients::Engine engine, aggregation::MemorySpace space, const AllAsked& asked) {
    const clients::Features honoured = honoured_by(way_of(engine, space, features_of(asked)));
    const auto lacking = std::ranges::find_if(asked, [&](const Asked& one) { return !honoured.has(one.feature); });
    return lacking == asked.end() ? "" : lacking->lack;
}

/// The obstacle for the direct engine, as text after "the direct engine "; empty if there is none.
std::string obstacle(aggregation::MemorySpace space, const clients::ModelSpec& model, const AllAsked& asked) {
    if (std::string lack = lack_of(clients::Engine::Direct, space, asked); !lack.empty()) return lack;
    const bool on_gpu = space == aggregation::MemorySpace::Cuda;
    if (const std::string layer = on_gpu ? clients::direct::device::misfit(model) : clients::direct::misfit(model);
        !layer.empty())
        return "has no " + layer;
    return on_gpu ? clients::direct::device::too_large(model, clients::shared_bytes_of_device()) : "";
}

}  // namespace

std::string direct_kernels(aggregation::MemorySpace space) {
    return space == aggregation::MemorySpace::Cuda ? "cuda" : std::string(clients::direct::kernels().name);
}

EngineChoice choose_engine(const LoadedConfig& loaded, aggregation::MemorySpace space, const clients::ModelSpec& model,
                           const clients::Cut& cut) {
    const bool wants_libtorch = loaded.run.training.engine == clients::Engine::Libtorch;
    const bool on_gpu = space == aggregation::MemorySpace::Cuda;
    const AllAsked asked = all_asked(loaded.run, on_gpu, model, cut);
    if (loss_of(loaded.run).features)
        if (const std::string problem = clients::feature_layer(model).problem; !problem.empty())
            throw loaded.source->error(
                "strategy.file",
                fmt::format(
                    "the loss or the measure of {} reads features (z), the input of the last layer with parameters, but the "
                    "model {}; choose another model, or formulas of logits",
                    loaded.run.strategy.file.string(), problem));
    const std::string in_the_way = wants_libtorch ? "" : obstacle(space, model, asked);
    if (in_the_way.empty() && !wants_libtorch) {
        if (!on_gpu) clients::direct::kernels();  // throws if the environment names kernels that do not exist
        return {clients::Engine::Direct, "", features_of(asked)};
    }
    if (!wants_libtorch && on_gpu && clients::libtorch_cuda_devices() == 0)
        throw loaded.source->error(
            "device", fmt::format("the direct engine {}, and {}; use device: cpu, or run scripts/setup --cuda and build again",
                                  in_the_way,
                                  clients::libtorch_info().cuda_built ? "LibTorch cannot use the GPU"
                                                                      : "this build has no other engine for CUDA"));
    if (loaded.run.training.engine == clients::Engine::Direct)
        throw loaded.source->error("training.engine",
                                   fmt::format("the direct engine {}; allowed here: auto, libtorch", in_the_way));
    if (const std::string lack = lack_of(clients::Engine::Libtorch, space, asked); !lack.empty())
        throw loaded.source->error("training.engine",
                                   fmt::format("LibTorch's training {}{}", lack,
                                               in_the_way.empty() ? "; auto would choose another engine"
                                                                  : fmt::format(", and the direct engine {}", in_the_way)));
    clients::libtorch_engine();  // throws here, not in a worker, if LibTorch's engine is missing
    return {clients::Engine::Libtorch, wants_libtorch ? "training.engine asks for it" : "the direct engine " + in_the_way,
            features_of(asked)};
}

}  // namespace fedhive::sim
