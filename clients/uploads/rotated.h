// Rounds an update after a random rotation: DRIVE with one bit a value, EDEN with several.
#pragma once

#include "clients/uploads/upload.h"

#include <cstdint>

namespace fedhive::clients {

/// Number of values that are rotated together; a power of two.
inline constexpr std::size_t kRotatedTogether = 4096;

/// Rounds the update's values that no earlier step left out, block by block of kRotatedTogether values x, the last block filled
/// up with zeros to the next power of two d:
///
///   r = H D x / √d     D: drawn signs on the diagonal, H: Hadamard's matrix of ±1
///   c = the centroid nearest to r_i √d / |x|, of the 2^bits that are best for normal values (Lloyd and Max)
///   sent = D H S c / √d,   S = |x|² / ⟨r, c⟩, so that ⟨sent, x⟩ = |x|²
///
/// After a step error_feedback, S = ⟨r, c⟩ / |c|², which brings `sent` closest to x. A block with a value that is not finite stays unchanged.
///
/// Shapes   bits: 1 to 4.
/// Order    draws and sums by block: the same bits in any worker. Cost: 12 additions a value and way.
void round_rotated(Upload& upload, std::uint32_t bits);

/// Updates the size: `bits` for each value, also for the zeros at the end, S of each block, and the seed of D.
void size_of_rotated(UploadSize& size, std::uint32_t bits);

}  // namespace fedhive::clients
