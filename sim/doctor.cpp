#include "sim/doctor.h"

#include "aggregation/base/error.h"
#include "aggregation/math/vector_ops.h"
#include "aggregation/memory/cuda_arena.h"
#include "clients/protocol/process.h"
#include "clients/training/libtorch_info.h"
#include "sim/commands.h"
#include "sim/machine.h"
#include "sim/version.h"

#include <fmt/format.h>

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace fedhive::sim {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kProbeBytes = 2U << 20;

std::string mps_pipe() {
    const char* folder = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
    return folder != nullptr ? folder : "/tmp/nvidia-mps";
}

IpcFacts collect_facts() {
    IpcFacts facts;
    utsname name{};
    if (uname(&name) == 0) facts.kernel_release = name.release;
    facts.mig_devices = fs::exists("/proc/driver/nvidia/capabilities/gpu0/mig/gi0");
    // The first process of the machine's own namespace has this inode for its PID namespace.
    struct stat own {};
    facts.own_pid_namespace = stat("/proc/self/ns/pid", &own) == 0 && own.st_ino != 0xEFFFFFFCU;
    struct stat pipe {};
    facts.mps_active = stat((mps_pipe() + "/control").c_str(), &pipe) == 0;
    facts.mps_other_user = facts.mps_active && pipe.st_uid != getuid() && getuid() != 0;
    return facts;
}

/// Shares a small allocation with a child process, which checks it and writes back.
std::string probe_ipc() {
    aggregation::CudaDriver& driver = aggregation::cuda_driver();
    const aggregation::CudaArena arena(driver, {kProbeBytes / sizeof(float) / 4, 1});
    std::string hex;
    for (const auto byte : arena.handle().bytes) hex += fmt::format("{:02x}", static_cast<unsigned>(byte));
    clients::SpawnOptions spawn;
    spawn.arguments = {"ipc-probe", hex, std::to_string(arena.geometry().num_floats)};
    clients::ChildProcess child(spawn);
    if (!child.wait_for(20.0)) return "the probing child did not end within 20 s";
    const std::string text = child.end()->text;
    return text == "exited with status 0" ? "" : "the probing child " + text;
}

void print_gpu(const clients::LibtorchInfo& torch) {
    const aggregation::CudaVersions versions = aggregation::cuda_versions();
    fmt::print("cuda        {}\n", versions.describe());
    fmt::print("training    {}\n",
               torch.cuda_built
                   ? fmt::format("LibTorch with CUDA, {} usable device(s)", torch.cuda_devices)
                   : "LibTorch without CUDA: training runs on the CPU (scripts/setup --cuda brings the CUDA build)");
    const IpcFacts facts = collect_facts();
    fmt::print("mps         {}\n", facts.mps_active ? "running, pipe " + mps_pipe() : "not running");
    if (versions.devices == 0) {
        fmt::print("ipc         not probed: there is no CUDA device; host memory is used\n");
        return;
    }
    std::string problem;
    try {
        problem = probe_ipc();
    } catch (const std::exception& error) {
        problem = error.what();
    }
    if (problem.empty()) {
        fmt::print("ipc         a child process opened an IPC handle, read and wrote: works\n");
        return;
    }
    fmt::print("ipc         does not work: {}\n", problem);
    for (const std::string& cause : likely_ipc_causes(facts)) fmt::print("            likely: {}\n", cause);
    fmt::print("            use device: cpu\n");
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

int ipc_probe_command(const std::string& handle_hex, std::size_t num_floats) {
    aggregation::IpcHandle handle;
    if (handle_hex.size() != 2 * handle.bytes.size()) throw ConfigError("ipc-probe: a handle has 128 hexadecimal digits");
    for (std::size_t i = 0; i < handle.bytes.size(); ++i)
        handle.bytes[i] = static_cast<decltype(handle.bytes)::value_type>(std::stoul(handle_hex.substr(2 * i, 2), nullptr, 16));
    const aggregation::CudaArenaView view(aggregation::cuda_driver(), handle, {num_floats, 1});
    std::vector<float> pattern(num_floats, 1.5F);
    aggregation::copy(view.slot(0), pattern);
    std::vector<float> seen(num_floats, 0.0F);
    aggregation::copy(seen, view.slot(0));
    return seen == pattern ? 0 : 1;
}

int doctor_command() {
    const Machine machine = this_machine();
    const clients::LibtorchInfo torch = clients::libtorch_info();
    fmt::print("fedhive     {} ({})\n", kVersion, kCommit);
    fmt::print("cpu         {} · {} core{} usable\n", machine.cpu, machine.cores, machine.cores == 1 ? "" : "s");
    fmt::print("memory      {} available\n", human_bytes(machine.available_memory));
    fmt::print("libtorch    {} · CPU capability {}\n", torch.version, torch.cpu_capability);
    print_gpu(torch);
    return 0;
}

}  // namespace fedhive::sim
