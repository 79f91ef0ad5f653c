// Whether this process was started as one of several ranks, and by whom; and the library with MPI in it, which is loaded only then.
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
    std::optional<std::uint32_t> ranks;  // as the starter says; it may not
    std::uint32_t rank = 0;              // likewise: who speaks for all before MPI is there
};

/// By what the environment says (Open MPI, MPICH, PMIx, Slurm, torchrun); empty: alone, or the only rank.
std::optional<Launch> find_launch();

/// The GPUs of this host by name, as CUDA_VISIBLE_DEVICES takes them.
using DeviceNames = std::function<std::vector<std::string>()>;

/// The ranks of this run; alone() without a launch. `command`: as it is to be typed behind mpirun. Throws ConfigError where this fedhive was
/// built without MPI, or MPI and the starter do not know each other, and for torchrun.
/// Process  before any thread is started, with interrupts blocked, and before the first call of CUDA. Takes this process's share of the
/// processors of its host, where ranks that share them are not bound to some already, and one of the GPUs that several see, by
/// CUDA_VISIBLE_DEVICES; `devices` is asked where that is not set.
Ranks& join_ranks(const std::string& command, const DeviceNames& devices);

/// Of so many devices, for the rank that comes after `before` others which see the same ones. Empty: it keeps what it sees.
std::string device_for(const std::vector<std::string>& devices, std::uint32_t before, std::uint32_t sharing);

/// Variables with which a process that one of several ranks starts takes itself for no rank.
std::vector<std::pair<std::string, std::string>> alone_environment();

}  // namespace fedhive::sim
