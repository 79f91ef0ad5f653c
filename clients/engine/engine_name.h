// The engines for local steps and evaluations, and their names in configs, manifests and checkpoints.
#pragma once

#include "aggregation/base/words.h"

#include <cstdint>

namespace fedhive::clients {

/// LibTorch, or fedhive's own kernels for small models (clients/direct). The two round differently, so the bits of a result depend on the
/// engine.
enum class Engine : std::uint32_t { Libtorch, Direct };
constexpr auto all_words(Engine) { return std::array{"libtorch", "direct"}; }

}  // namespace fedhive::clients
