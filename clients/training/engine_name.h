// What local steps and evaluations are computed by, and the names that configs, manifests and checkpoints have for it.
#pragma once

#include <array>
#include <cstdint>

namespace fedhive::clients {

/// LibTorch, or kernels of our own for small models (clients/direct). The two round differently, so it is a part of what a result's bits depend on.
enum class Engine : std::uint32_t { Libtorch, Direct };

/// In that order.
inline constexpr std::array kEngineNames{"libtorch", "direct"};

}  // namespace fedhive::clients
