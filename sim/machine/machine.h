// What this machine offers to this process: cores and memory as affinity and cgroup allow them, not as /proc/cpuinfo boasts.
#pragma once

#include <cstdint>
#include <string>

namespace fedhive::sim {

struct Machine {
    int cores = 1;                       // usable at once, at least 1
    std::uint64_t available_memory = 0;  // bytes
    std::uint64_t memory = 0;            // bytes, in use or not, of the whole machine
    std::string cpu;                     // model name
};

Machine this_machine();

/// How many processes the kernel has killed for want of memory since it started, on the whole machine; 0 where it does not tell.
std::uint64_t num_oom_kills();

/// "1.5 GiB"
std::string human_bytes(std::uint64_t bytes);

}  // namespace fedhive::sim
