// Detects whether this process was started as one of several ranks, and by which starter; loads the library with MPI only then.
#pragma once

#include "sim/ranks/ranks.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fedhive::sim {

struct Launch {
    std::string by;                      // "mpirun", "srun", "torchrun"
    std::optional<std::uint32_t> ranks;  // from the starter; may be missing
    std::uint32_t rank = 0;              // likewise; decides who prints messages before MPI is available
};

/// From the environment (Open MPI, MPICH, PMIx, Slurm, torchrun); empty: no starter, or only one rank.
std::optional<Launch> find_launch();

/// Returns the names of this host's GPUs, in the form of CUDA_VISIBLE_DEVICES.
using DeviceNames = std::function<std::vector<std::string>()>;

/// The ranks of this run; alone() without a launch. `command`: what to type after mpirun, for messages. Throws ConfigError if
/// this fedhive was built without MPI, if MPI and the starter do not recognise each other, and for torchrun.
/// Process  call before any thread is started, with interrupts blocked, and before the first call of CUDA. Binds this process
///          to its share of the host's processors, unless the starter has bound the ranks, and to one of the GPUs that several
///          ranks see, by CUDA_VISIBLE_DEVICES; calls `devices` if that is not set.
Ranks& join_ranks(const std::string& command, const DeviceNames& devices);

/// The device for the rank that comes after `before` others of the `sharing` ranks that see the same devices. Empty: it keeps
/// what it sees.
std::string device_for(const std::vector<std::string>& devices, std::uint32_t before, std::uint32_t sharing);

/// Variables that make a child process of a rank run alone.
std::vector<std::pair<std::string, std::string>> alone_environment();

}  // namespace fedhive::sim
