// What a process and those it has started take, as the kernel tells it from outside.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace fedhive::sim {

/// The process, its children, theirs, and so on; those that have ended are left out.
std::vector<pid_t> process_tree(pid_t root);

/// Host memory of a process and its descendants in bytes: proportional set sizes, so that what they share counts once; resident set sizes
/// where the kernel does not tell those. 0 where the process has ended.
std::uint64_t tree_memory(pid_t root);

}  // namespace fedhive::sim
