#include "sim/doctor.h"

#include "aggregation/memory/cuda_arena.h"
#include "clients/training/libtorch_info.h"
#include "sim/commands.h"
#include "sim/ipc_probe.h"
#include "sim/machine.h"
#include "sim/version.h"
#include "sim/workers/mps.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace fedhive::sim {

namespace fs = std::filesystem;

namespace {

std::string mps_pipe() {
    const char* folder = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
    return folder != nullptr ? folder : "/tmp/nvidia-mps";
}

/// GPU instances have a folder each: …/gpu0/mig/gi7.
bool mig_instances_exist() {
    std::error_code none;
    for (const auto& gpu : fs::directory_iterator("/proc/driver/nvidia/capabilities", none))
        for (const auto& entry : fs::directory_iterator(gpu.path() / "mig", none))
            if (entry.path().filename().string().rfind("gi", 0) == 0) return true;
    return false;
}

IpcFacts collect_facts() {
    IpcFacts facts;
    utsname name{};
    if (uname(&name) == 0) facts.kernel_release = name.release;
    facts.mig_devices = mig_instances_exist();
    // The first process of the machine's own namespace has this inode for its PID namespace.
    struct stat own {};
    facts.own_pid_namespace = stat("/proc/self/ns/pid", &own) == 0 && own.st_ino != 0xEFFFFFFCU;
    struct stat pipe {};
    facts.mps_active = stat((mps_pipe() + "/control").c_str(), &pipe) == 0;
    facts.mps_other_user = facts.mps_active && pipe.st_uid != getuid() && getuid() != 0;
    return facts;
}

/// What is known of the machine, once; printed as lines or as JSON.
struct Findings {
    Machine machine = this_machine();
    clients::LibtorchInfo torch = clients::libtorch_info();
    aggregation::CudaVersions cuda = aggregation::cuda_versions();
    IpcFacts facts = collect_facts();
    std::string why_no_mps = sim::why_no_mps(cuda.devices > 0);
    std::string ipc_problem = cuda.devices > 0 ? probe_ipc() : "";
};

void print_gpu(const Findings& found) {
    fmt::print("cuda        {}\n", found.cuda.describe());
    fmt::print("training    {}\n",
               found.torch.cuda_built
                   ? fmt::format("LibTorch with CUDA, {} usable device(s)", found.torch.cuda_devices)
                   : "LibTorch without CUDA: training runs on the CPU (scripts/setup --cuda brings the CUDA build)");
    fmt::print(
        "mps         {}; {}\n", found.facts.mps_active ? "running, pipe " + mps_pipe() : "not running",
        found.why_no_mps.empty() ? "a run can have a daemon of its own (mps: on)" : "none for a run: " + found.why_no_mps);
    if (found.cuda.devices == 0) {
        fmt::print("ipc         not probed: there is no CUDA device; host memory is used\n");
        return;
    }
    if (found.ipc_problem.empty()) {
        fmt::print("ipc         a child process opened an IPC handle, read and wrote: works\n");
        return;
    }
    fmt::print("ipc         does not work: {}\n", found.ipc_problem);
    for (const std::string& cause : likely_ipc_causes(found.facts)) fmt::print("            likely: {}\n", cause);
    fmt::print("            use device: cpu\n");
}

void print_json(const Findings& found) {
    const bool probed = found.cuda.devices > 0;
    const bool works = probed && found.ipc_problem.empty();
    nlohmann::ordered_json json;
    json["fedhive"] = kVersion;
    json["commit"] = kCommit;
    json["cpu"] = found.machine.cpu;
    json["cores"] = found.machine.cores;
    json["available_memory_bytes"] = found.machine.available_memory;
    json["libtorch"] = found.torch.version;
    json["cpu_capability"] = found.torch.cpu_capability;
    json["cuda"] = found.cuda.describe();
    json["cuda_devices"] = found.cuda.devices;
    json["libtorch_with_cuda"] = found.torch.cuda_built;
    json["training_devices"] = found.torch.cuda_devices;
    json["mps_running"] = found.facts.mps_active;
    json["mps_problem"] = found.why_no_mps.empty() ? nlohmann::json(nullptr) : nlohmann::json(found.why_no_mps);
    json["ipc_works"] = probed ? nlohmann::json(works) : nlohmann::json(nullptr);
    json["ipc_problem"] = probed && !works ? nlohmann::json(found.ipc_problem) : nlohmann::json(nullptr);
    json["ipc_likely_causes"] = probed && !works ? likely_ipc_causes(found.facts) : std::vector<std::string>{};
    fmt::print("{}\n", json.dump(2));
}

}  // namespace

std::vector<std::string> likely_ipc_causes(const IpcFacts& facts) {
    std::vector<std::string> causes;
    if (facts.kernel_release.find("icrosoft") != std::string::npos) causes.emplace_back("WSL2 does not support CUDA IPC");
    if (facts.mig_devices) causes.emplace_back("MIG: processes on different GPU instances cannot share memory");
    if (facts.mps_other_user)
        causes.emplace_back("the MPS server belongs to another user; set CUDA_MPS_PIPE_DIRECTORY to a folder of your own");
    if (facts.own_pid_namespace)
        causes.emplace_back(
            "a container: all processes must share one PID namespace (run everything in one container, or --pid=host)");
    if (causes.empty())
        causes.emplace_back("the driver and the CUDA runtime do not fit together, or the GPU is in an exclusive mode");
    return causes;
}

int doctor_command(bool json) {
    const Findings found;
    if (json) {
        print_json(found);
        return 0;
    }
    const Machine& machine = found.machine;
    fmt::print("fedhive     {} ({})\n", kVersion, kCommit);
    fmt::print("cpu         {} · {} core{} usable\n", machine.cpu, machine.cores, machine.cores == 1 ? "" : "s");
    fmt::print("memory      {} available\n", human_bytes(machine.available_memory));
    fmt::print("libtorch    {} · CPU capability {}\n", found.torch.version, found.torch.cpu_capability);
    print_gpu(found);
    return 0;
}

}  // namespace fedhive::sim
