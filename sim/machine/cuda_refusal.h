// Why `device: cuda` is impossible on this machine, and what to do about it; why CUDA IPC may fail. Facts are collected and
// judged separately, so that every cause can be tested without a GPU.
#pragma once

#include "aggregation/memory/cuda_driver.h"
#include "clients/trainers/libtorch_info.h"

#include <optional>
#include <string>
#include <vector>

namespace fedhive::sim {

/// Facts that can explain a failure of CUDA IPC.
struct IpcFacts {
    std::string kernel_release;  // uname -r
    bool mig_devices = false;    // MIG instances exist
    bool own_pid_namespace = false;
    std::string mps_pipe;  // folder of a running daemon; empty: none
    bool mps_other_user = false;
};
IpcFacts collect_ipc_facts();

/// Likely causes with their remedies, most likely first; never empty.
std::vector<std::string> likely_ipc_causes(const IpcFacts& facts);

struct CudaFacts {
    aggregation::CudaVersions cuda;
    clients::LibtorchInfo torch;
    int torch_devices = 0;               // usable by LibTorch
    std::optional<std::string> visible;  // CUDA_VISIBLE_DEVICES, if set
    bool libtorch_trains = true;         // false: the direct engine may train, which needs none
    std::string ipc_problem;             // empty: it works, or is not needed
    IpcFacts ipc;
};

/// `shared`: more than one process uses the device, so that IPC is probed if there is one (ipc_probe.h).
CudaFacts collect_cuda_facts(bool shared, bool libtorch_trains = true);

/// One line: what is missing, and what to do. Empty if `device: cuda` is possible.
std::string why_no_cuda(const CudaFacts& facts);

}  // namespace fedhive::sim
