// Choices of a config as enums, each with its words in YAML. Other folders define clients::Engine, clients::Precision and Weighting.
#pragma once

#include "aggregation/base/words.h"

namespace fedhive::sim {

/// Where parameters are stored and clients are trained; Auto: Cuda if there is a usable GPU.
enum class Device { Auto, Cpu, Cuda };
constexpr auto all_words(Device) { return std::array{"auto", "cpu", "cuda"}; }

/// Whether workers share the GPU by NVIDIA's Multi-Process Service; Auto: if the probe finds it faster.
enum class Mps { Auto, On, Off };
constexpr auto all_words(Mps) { return std::array{"auto", "on", "off"}; }

/// Where clients' state is stored.
enum class StateStore { Memory, File };
constexpr auto all_words(StateStore) { return std::array{"memory", "file"}; }

/// What decides the order in which updates arrive: simulated time, or the time when their training really finished.
enum class Clock { Virtual, Wall };
constexpr auto all_words(Clock) { return std::array{"virtual", "wall"}; }

/// With several ranks: each reads its own data, or rank 0 sends its data to all.
enum class DataSharing { Own, Rank0 };
constexpr auto all_words(DataSharing) { return std::array{"own", "rank0"}; }

/// Mirroring of training images.
enum class Flip { None, Horizontal };
constexpr auto all_words(Flip) { return std::array{"none", "horizontal"}; }

/// Rotation of a client's images, by its number.
enum class Rotation { None, HalfTurns, QuarterTurns };
constexpr auto all_words(Rotation) { return std::array{"none", "half_turns", "quarter_turns"}; }

/// How model.file is run. Auto: as a list of layers if layers can compute all of it, else as a graph. Keep: as a graph.
enum class GraphUse { Auto, Keep };
constexpr auto all_words(GraphUse) { return std::array{"auto", "keep"}; }

/// What the run does when a client fails.
enum class OnFailure { Abort, Drop, Retry };
constexpr auto all_words(OnFailure) { return std::array{"abort", "drop", "retry"}; }

/// Which attempts of a client an injected fault hits.
enum class FaultedAttempts { First, All };
constexpr auto all_words(FaultedAttempts) { return std::array{"first", "all"}; }

/// The rule by which a sweep decides at a rung which runs go on.
enum class StoppingRule { Halving, Median, None };
constexpr auto all_words(StoppingRule) { return std::array{"halving", "median", "none"}; }

}  // namespace fedhive::sim
