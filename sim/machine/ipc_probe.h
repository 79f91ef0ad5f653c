// Does CUDA IPC work here? Asked by `fedhive doctor`, and before `device: auto` takes the GPU.
#pragma once

#include <cstddef>
#include <string>

namespace fedhive::sim {

/// Shares a small allocation with a child process, which reads a pattern there and has a kernel write another. Empty when both arrived,
/// else what did not.
std::string probe_ipc();

/// Its child's part (the hidden subcommand `ipc-probe`): opens the CUDA IPC handle given in hex, reads what is there, writes back.
int ipc_probe_command(const std::string& handle_hex, std::size_t num_floats);

}  // namespace fedhive::sim
