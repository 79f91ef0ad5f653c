// The engines for local steps and evaluations, and their names in configs, manifests and checkpoints.
#pragma once

#include <array>
#include <cstdint>

namespace fedhive::clients {

/// LibTorch, or fedhive's own kernels for small models (clients/direct). They round differently, so that
/// a result's bits depend on the engine.
enum class Engine : std::uint32_t { Libtorch, Direct };

/// Names in the order of Engine.
inline constexpr std::array kEngineNames{"libtorch", "direct"};

}  // namespace fedhive::clients
