// What this machine can do for fedhive, in plain words.
#pragma once

#include <string>
#include <vector>

namespace fedhive::sim {

/// Facts that tell why CUDA IPC may fail; collected by doctor, judged by likely_ipc_causes().
struct IpcFacts {
    std::string kernel_release;  // uname -r
    bool mig_devices = false;    // MIG instances are visible
    bool own_pid_namespace = false;
    bool mps_active = false;
    bool mps_other_user = false;  // the MPS pipe belongs to another user
};

/// Most likely first; never empty.
std::vector<std::string> likely_ipc_causes(const IpcFacts& facts);

}  // namespace fedhive::sim
