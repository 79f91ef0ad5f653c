// What a value of an example is stored as. C++17: kernels read it, too.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fedhive::clients {

/// A model gets floats of each: of a byte (b / 255 - mean) / std, of a float (f - mean) / std; of a token, which is a byte or, in a larger
/// vocabulary, an integer, its number.
enum class ValueType : std::uint32_t { U8, F32, I32 };

constexpr std::size_t bytes_of(ValueType type) { return type == ValueType::U8 ? 1 : 4; }

}  // namespace fedhive::clients
