// The features that a run may need of its local steps, and the features that each way of training supports. sim/plan/engine_choice.cpp
// derives a run's features from its config, targets and model. A way of training never gets a run that needs a feature
// outside its list: another engine trains that run, or the run is refused.
#pragma once

#include "aggregation/memory/param_span.h"
#include "clients/engine/engine_name.h"

#include <cstdint>
#include <initializer_list>

namespace fedhive::clients {

enum class Feature : std::uint32_t {
    // of the strategy
    RateOfRound,      // a client rate that is not the same in all rounds
    ElementFormula,   // of MethodFormulas::changes_elements(), as FedProx's
    GradientFormula,  // any other of a visit
    LossFormula,
    // of the targets
    OneClass,
    ClassEach,
    Numbers,
    IgnoredTargets,
    // of the model
    Layers,
    Graph,
    FrozenParameters,
    OwnParts,  // of each client, as model.local names them
    // of a step
    TensorFloat32,
    BFloat16,
    RecordedSteps,
    Optimizer,  // any of aggregation/math/client_optimizer.h, over flat parameters
    ClippedGradient,
    // of the workers
    Threads,  // more than one thread a worker
    ClientsAtOnce,
    Halves,  // a cut model, whose halves train in two workers
};

class Features {
public:
    constexpr Features() = default;
    constexpr Features(std::initializer_list<Feature> features) {
        for (const Feature feature : features) add(feature);
    }
    constexpr void add(Feature feature) { bits_ |= std::uint32_t{1} << static_cast<std::uint32_t>(feature); }
    constexpr bool has(Feature feature) const { return (bits_ >> static_cast<std::uint32_t>(feature) & 1U) != 0; }
    constexpr bool has_all(Features others) const { return (others.bits_ & ~bits_) == 0; }

private:
    std::uint32_t bits_ = 0;
};

/// The implementations (ways) of local training; an Engine has several, with different features.
enum class Way : std::uint32_t {
    Direct,
    DirectOnGpu,    // step by step
    DirectBlocks,   // whole clients, a thread block each
    Libtorch,       // one client at a time
    LibtorchRows,   // many clients at once
    LibtorchHalves  // the halves of a cut model
};

/// The way that an engine takes for a run with these features; for the direct engine on a GPU, DirectBlocks if it supports all of them.
Way way_of(Engine engine, aggregation::MemorySpace space, Features asked);

Features honoured_by(Way way);

}  // namespace fedhive::clients
