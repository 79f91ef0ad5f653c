// A run's private daemon of NVIDIA's Multi-Process Service: kernels of different workers then run on the GPU at the same time
// instead of in turns. Changes no bits and is never required.
//
//   coordinator ──── lifeline, a pipe ────▶ keeper ──── start, quit ────▶ nvidia-cuda-mps-control -d
//        └─▶ workers ──── CUDA_MPS_PIPE_DIRECTORY ───────────────────────────────▲
//
// When the coordinator ends, in whatever way, the kernel closes the lifeline; the keeper then ends the daemon and removes the
// folder. If the keeper was killed, too, the folder's lock is free, and the next daemon's start removes the remains. The
// coordinator is no client of MPS; clients can open the memory that it shares by IPC all the same. Neither the GPU's compute
// mode nor a client's share of it is changed.
// Source: NVIDIA, "Multi-Process Service", docs.nvidia.com/deploy/mps.
#pragma once

#include "aggregation/base/error.h"
#include "clients/protocol/process.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace fedhive::sim {

/// Up to CUDA 13.0, a GPU has 48 contexts; one is kept in reserve.
inline constexpr std::uint32_t kMostMpsWorkers = 47;

/// Why a daemon is impossible: "device is cpu, …"; empty if it is possible.
std::string why_no_mps(bool on_gpu);

/// The daemon could not be started.
struct MpsFault : Fault {
    using Fault::Fault;
};

class MpsDaemon {
public:
    /// Removes the remains of killed runs, then starts a daemon. Throws MpsFault with the message of the control program.
    MpsDaemon();

    /// Returns when the daemon has ended, or after a timeout. End the workers first: the daemon waits for its clients.
    ~MpsDaemon();
    MpsDaemon(const MpsDaemon&) = delete;
    MpsDaemon& operator=(const MpsDaemon&) = delete;

    /// The environment that makes a process its client.
    std::vector<std::pair<std::string, std::string>> environment() const;
    const std::filesystem::path& folder() const { return folder_; }

private:
    void await_daemon(int answer);

    std::filesystem::path folder_;
    int lifeline_ = -1;
    std::unique_ptr<clients::ChildProcess> keeper_;
};

/// The body of `fedhive mps-keeper`; returns the exit code. Holds `lock` for the life of this process.
int mps_keeper_command(const std::filesystem::path& folder, int lifeline, int answer, int lock);

}  // namespace fedhive::sim
