// Tests whether CUDA IPC works, for `fedhive doctor` and before `device: auto` takes the GPU.
#pragma once

#include <cstddef>
#include <string>

namespace fedhive::sim {

/// Shares a small allocation with a child process, which reads a pattern from it and writes another with a kernel. Returns an
/// empty text if both were correct; else what was not.
std::string probe_ipc();

/// The child's part (hidden subcommand `ipc-probe`): opens the CUDA IPC handle, given in hex, reads the pattern and writes the
/// answer.
int ipc_probe_command(const std::string& handle_hex, std::size_t num_floats);

}  // namespace fedhive::sim
