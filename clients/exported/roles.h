// Determines the roles of a program's tensors (trained, moved, …), and checks that the graph writes no others.
#pragma once

#include "clients/exported/program.h"
#include "clients/protocol/name_patterns.h"

namespace fedhive::clients::exported {

/// Sets role and same_as of every tensor. Throws ConfigError for writes to the input, a parameter or a constant, different
/// tensors that share a storage, a parameter or moved buffer that is not f32, a program without trained parameters, or an
/// export in evaluation mode, unless frozen_norms allows it.
void find_roles(Program& program, bool frozen_norms);

/// Freezes the trained parameters whose names match, and all parameters tied to them.
void freeze(Program& program, const NamePatterns& names);

}  // namespace fedhive::clients::exported
