// NVIDIA's Multi-Process Service, private to a run: kernels of different workers then share the GPU at the same time instead of in turns.
// It changes no bits and is never needed.
//
//   coordinator ──── lifeline, a pipe ────▶ keeper ──── start, quit ────▶ nvidia-cuda-mps-control -d
//        └─▶ workers ──── CUDA_MPS_PIPE_DIRECTORY ───────────────────────────────▲
//
// However the coordinator ends, the kernel closes the lifeline; the keeper sees that, ends the daemon and removes the folder. Where the
// keeper was killed, too, the folder's lock is free, and the next daemon's start ends what was left. The coordinator itself stays outside:
// what it shares by IPC can be opened by clients of MPS as by others. Neither the GPU's compute mode nor a client's share of it is touched.
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

/// 48 contexts a GPU up to CUDA 13.0, and one in reserve.
inline constexpr std::uint32_t kMostMpsWorkers = 47;

/// Why there can be no daemon: "device is cpu, …"; empty where there can.
std::string why_no_mps(bool on_gpu);

/// There is no daemon after all.
struct MpsFault : Fault {
    using Fault::Fault;
};

class MpsDaemon {
public:
    /// Ends what killed runs left, then starts a daemon of this run's own. Throws MpsFault with what the control program said.
    MpsDaemon();

    /// Returns when the daemon has ended, or after a while. The workers should have ended before: it waits for its clients.
    ~MpsDaemon();
    MpsDaemon(const MpsDaemon&) = delete;
    MpsDaemon& operator=(const MpsDaemon&) = delete;

    /// What makes a process its client.
    std::vector<std::pair<std::string, std::string>> environment() const;
    const std::filesystem::path& folder() const { return folder_; }

private:
    void await_daemon(int answer);

    std::filesystem::path folder_;
    int lifeline_ = -1;
    std::unique_ptr<clients::ChildProcess> keeper_;
};

/// The body of `fedhive mps-keeper`; returns the exit code. `lock` is held for as long as this process lives.
int mps_keeper_command(const std::filesystem::path& folder, int lifeline, int answer, int lock);

}  // namespace fedhive::sim
