// What becomes of a program's tensors: which are trained, which are moved, and that nothing else is written.
#pragma once

#include "clients/exported/program.h"
#include "clients/protocol/name_patterns.h"

namespace fedhive::clients::exported {

/// Sets role and same_as of every tensor. Throws ConfigError for writes to the input, a parameter or a constant, tensors that share a storage and
/// differ, a parameter or a moved buffer that is not f32, none that is trained, an export in evaluation mode.
void find_roles(Program& program, bool frozen_norms);

/// Trained parameters with such names are frozen; of tied ones all, where one of them has such a name.
void freeze(Program& program, const NamePatterns& names);

}  // namespace fedhive::clients::exported
