// Runs a command that may have been started as several ranks: each rank does its part, and rank 0 reports the common end.
#pragma once

#include "sim/ranks/ranks.h"

#include <functional>
#include <string>

namespace fedhive::sim {

/// Runs `work` in this rank, or in this process if it is the only one. Returns the exit status; in rank 0, throws the error
/// that ends all ranks. `command`: as typed. Call with interrupts blocked if there may be several ranks.
int in_all_ranks(const std::string& command, const std::function<int(Ranks& ranks)>& work);

}  // namespace fedhive::sim
