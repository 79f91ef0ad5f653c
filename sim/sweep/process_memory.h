// Memory of a process tree, as the kernel reports it to others.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace fedhive::sim {

/// The process and all its descendants, without ended ones.
std::vector<pid_t> process_tree(pid_t root);

/// Host memory of a process and its descendants in bytes: proportional set sizes, so that shared memory counts once; resident
/// set sizes if the kernel does not report those. 0 if the process has ended.
std::uint64_t tree_memory(pid_t root);

}  // namespace fedhive::sim
