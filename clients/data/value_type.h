// Storage type of an example's values. C++17: kernels include it, too.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fedhive::clients {

/// A model gets floats: (b / 255 - mean) / std of a byte, (f - mean) / std of a float, the number itself of a token.
/// Tokens are stored as U8, or as I32 for larger vocabularies.
enum class ValueType : std::uint32_t { U8, F32, I32 };

constexpr std::size_t bytes_of(ValueType type) { return type == ValueType::U8 ? 1 : 4; }

}  // namespace fedhive::clients
