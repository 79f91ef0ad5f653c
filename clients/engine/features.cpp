#include "clients/engine/features.h"

#include "aggregation/base/error.h"

namespace fedhive::clients {

Way way_of(Engine engine, aggregation::MemorySpace space, Features asked) {
    if (engine == Engine::Libtorch)
        return asked.has(Feature::Halves)          ? Way::LibtorchHalves
               : asked.has(Feature::ClientsAtOnce) ? Way::LibtorchRows
                                                   : Way::Libtorch;
    if (space == aggregation::MemorySpace::Host) return Way::Direct;
    return honoured_by(Way::DirectBlocks).has_all(asked) ? Way::DirectBlocks : Way::DirectOnGpu;
}

Features honoured_by(Way way) {
    using enum Feature;
    static constexpr Features kDirect{ElementFormula,   RateOfRound, OneClass,  Numbers,         IgnoredTargets,  Layers,
                                      FrozenParameters, OwnParts,    Optimizer, ClippedGradient, GradientFormula, LossFormula};

    static constexpr Features kDirectOnGpu{ElementFormula, RateOfRound, OneClass,        Numbers,        Layers,
                                           OwnParts,       Optimizer,   ClippedGradient, GradientFormula};

    static constexpr Features kDirectBlocks{ElementFormula, RateOfRound, OneClass, Numbers, Layers};

    static constexpr Features kLibtorch{ElementFormula,  RateOfRound, OneClass,      ClassEach,        Numbers,
                                        IgnoredTargets,  Layers,      Graph,         FrozenParameters, OwnParts,
                                        TensorFloat32,   BFloat16,    RecordedSteps, Optimizer,        ClippedGradient,
                                        GradientFormula, LossFormula, Threads};

    static constexpr Features kLibtorchRows{ElementFormula,  RateOfRound,     OneClass,         ClassEach,     Numbers,
                                            IgnoredTargets,  Layers,          FrozenParameters, TensorFloat32, RecordedSteps,
                                            ClippedGradient, GradientFormula, Threads,          ClientsAtOnce};

    static constexpr Features kLibtorchHalves{ElementFormula, RateOfRound, OneClass, IgnoredTargets, Layers,
                                              TensorFloat32,  Optimizer,   Threads,  Halves};

    switch (way) {
        case Way::Direct:
            return kDirect;
        case Way::DirectOnGpu:
            return kDirectOnGpu;
        case Way::DirectBlocks:
            return kDirectBlocks;
        case Way::Libtorch:
            return kLibtorch;
        case Way::LibtorchRows:
            return kLibtorchRows;
        case Way::LibtorchHalves:
            return kLibtorchHalves;
    }
    throw Fault("no such way of training");
}

}  // namespace fedhive::clients
