// Ranges by the names that fields are described with, and the largest numbers. Private to sim/config.
#pragma once

#include "sim/config/fields.h"

namespace fedhive::sim {

inline constexpr double kMost = 1e9;  // of anything counted: one count fits in 32 bits, a product of two in 64
inline constexpr double kWide = 1e6;  // of anything that multiplies memory

inline Range at_least(double low) { return {.low = low}; }
inline Range above(double low) { return {.low = low, .low_excluded = true}; }
inline Range between(double low, double high) { return {.low = low, .high = high}; }
inline Range fraction() { return {.low = 0, .high = 1, .low_excluded = true}; }
inline Range fraction_below_one() { return {.low = 0, .high = 1, .high_excluded = true}; }

// Each in the file of its name.
void describe_mode(Visitor& visitor, ModeConfig& mode);
void describe_devices(Visitor& visitor, RunConfig& run);

}  // namespace fedhive::sim
