// Resources of this machine for this process: cores and memory within affinity and cgroup limits, not the totals of
// /proc/cpuinfo.
#pragma once

#include <cstdint>
#include <string>

namespace fedhive::sim {

struct Machine {
    int cores = 1;                       // usable at once, at least 1
    std::uint64_t available_memory = 0;  // bytes
    std::uint64_t memory = 0;            // bytes, total of the whole machine
    std::string cpu;                     // model name
};

Machine this_machine();

/// Processes that the kernel has killed for lack of memory since it started, on the whole machine; 0 if unknown.
std::uint64_t num_oom_kills();

/// "1.5 GiB"
std::string human_bytes(std::uint64_t bytes);

}  // namespace fedhive::sim
