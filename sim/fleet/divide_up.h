// Division that rounds up.
#pragma once

#include <cstdint>

namespace fedhive::sim {

/// total / size, rounded up. size > 0.
constexpr std::uint64_t divide_up(std::uint64_t total, std::uint64_t size) { return (total + size - 1) / size; }

}  // namespace fedhive::sim
