// Closed choices of a config as enums, each with its words in YAML. Choices that other rooms have, too: clients::Engine,
// clients::Precision, Weighting.
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

/// What decides the order of arrivals: simulated time, or who has really finished.
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

/// What becomes of a model.file; Auto: a list of layers, where one computes all of it; Keep: its graph.
enum class GraphUse { Auto, Keep };
constexpr auto all_words(GraphUse) { return std::array{"auto", "keep"}; }

/// What a client's failure does to the run.
enum class OnFailure { Abort, Drop, Retry };
constexpr auto all_words(OnFailure) { return std::array{"abort", "drop", "retry"}; }

/// The attempts of a client that an injected fault lets fail.
enum class FaultedAttempts { First, All };
constexpr auto all_words(FaultedAttempts) { return std::array{"first", "all"}; }

/// How a sweep decides at a rung which runs go on.
enum class StoppingRule { Halving, Median, None };
constexpr auto all_words(StoppingRule) { return std::array{"halving", "median", "none"}; }

}  // namespace fedhive::sim
