// Does CUDA IPC work here? Asked by `fedhive doctor`, and before `device: auto` takes the GPU.
#pragma once

#include <string>

namespace fedhive::sim {

/// Shares a small allocation with a child process, which writes a pattern and reads it back. Empty when that worked, else what did not.
std::string probe_ipc();

}  // namespace fedhive::sim
