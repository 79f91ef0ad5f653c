// A graph tried on a few examples before anybody trains it, so that what only its operations can tell is wrong is said before round 1.
#pragma once

#include "clients/data/data_format.h"
#include "clients/exported/program.h"

#include <cstdint>

namespace fedhive::clients::exported {

/// A local step and an evaluation on two examples of zeros, or of the data's last token, and on one, in this process. It ends where it takes more than `most_bytes` of memory for
/// tensors. Reached by libtorch_engine() (clients/training/engine.h).
///
/// Throws   ConfigError, without the file's name: an operation that fails, and which; other answers than the data ask for; scores that no
///          parameter has a part in; a buffer that takes a gradient or another shape; too much memory.
/// Memory   afterwards none.
void rehearse(const Program& program, const DataShape& data, std::uint64_t most_bytes);

}  // namespace fedhive::clients::exported
