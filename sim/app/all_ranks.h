// A command that several ranks may have been started for: each does its part, and rank 0 says what all of them end for.
#pragma once

#include "sim/ranks/ranks.h"

#include <functional>
#include <string>

namespace fedhive::sim {

/// `work` in this rank, or in this process where it is the only one. Returns the exit status; throws what rank 0 ends for, in rank 0.
/// `command`: as it is typed. To be called with interrupts blocked where there may be several ranks.
int in_all_ranks(const std::string& command, const std::function<int(Ranks& ranks)>& work);

}  // namespace fedhive::sim
