// A trial run of a graph on a few examples, so that errors which only its operations can detect are reported before round 1.
#pragma once

#include "clients/data/data_format.h"
#include "clients/exported/program.h"

#include <cstdint>

namespace fedhive::clients::exported {

/// Runs a local step and an evaluation in this process, once on two examples and once on one. The examples are all zeros, or the data's last
/// token. Tensors may take `most_bytes` of memory at most. Called through libtorch_engine() (clients/trainers/engine.h).
///
/// Throws   ConfigError, without the file's name: an operation that fails, with its name; outputs that do not match the data;
///          scores that depend on no parameter; a buffer that gets a gradient or another shape; too much memory.
/// Memory   none afterwards.
void rehearse(const Program& program, const DataShape& data, std::uint64_t most_bytes);

}  // namespace fedhive::clients::exported
