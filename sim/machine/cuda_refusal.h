// Why `device: cuda` cannot be had on this machine, and what to do about it; why CUDA IPC may fail. Facts are collected here and judged apart,
// so that every cause can be tested without a GPU.
#pragma once

#include "aggregation/memory/cuda_driver.h"
#include "clients/training/libtorch_info.h"

#include <optional>
#include <string>
#include <vector>

namespace fedhive::sim {

/// Facts that tell why CUDA IPC may fail.
struct IpcFacts {
    std::string kernel_release;  // uname -r
    bool mig_devices = false;    // MIG instances exist
    bool own_pid_namespace = false;
    std::string mps_pipe;  // the folder of a daemon that runs; empty: none
    bool mps_other_user = false;
};
IpcFacts collect_ipc_facts();

/// Each with what to do about it, most likely first; never empty.
std::vector<std::string> likely_ipc_causes(const IpcFacts& facts);

struct CudaFacts {
    aggregation::CudaVersions cuda;
    clients::LibtorchInfo torch;
    int torch_devices = 0;               // that LibTorch can use
    std::optional<std::string> visible;  // CUDA_VISIBLE_DEVICES, where it is set
    std::string ipc_problem;             // empty: it works, or nobody needs it
    IpcFacts ipc;
};

/// `shared`: by more processes than one, so that IPC is probed where there is a device (ipc_probe.h).
CudaFacts collect_cuda_facts(bool shared);

/// One line: what is missing, and what to do. Empty where `device: cuda` can be had.
std::string why_no_cuda(const CudaFacts& facts);

}  // namespace fedhive::sim
