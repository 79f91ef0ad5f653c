// Does CUDA IPC work here? Asked by `fedhive doctor`, and before `device: auto` takes the GPU.
#pragma once

#include <string>

namespace fedhive::sim {

/// Shares a small allocation with a child process, which reads a pattern there and has a kernel write another. Empty when both arrived,
/// else what did not.
std::string probe_ipc();

}  // namespace fedhive::sim
