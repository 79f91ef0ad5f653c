// A processor of its own for each worker, if there are as many workers as processors.
//
//   worker w  ──  the w-th of the processors that this process may use
//
// Linux wakes the workers of a round one after the other. With no processor to spare it may queue two of them on one, and a round of half a
// millisecond ends before it moves one away: the round then takes twice as long.
#pragma once

#include <cstdint>

namespace fedhive::clients {

/// Keeps this thread, and what it starts later, on its own processor; returns whether it did. Changes nothing if `workers` is not the number of
/// processors that this process may use: fewer leave Linux an idle one, more have none of their own.
bool keep_to_own_processor(std::uint32_t worker, std::uint32_t workers);

}  // namespace fedhive::clients
