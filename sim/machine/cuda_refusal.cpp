#include "sim/machine/cuda_refusal.h"

#include "sim/machine/ipc_probe.h"

#include <fmt/format.h>

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace fedhive::sim {

namespace fs = std::filesystem;

namespace {

/// Each GPU instance has a folder: …/gpu0/mig/gi7.
bool mig_instances_exist() {
    std::error_code none;
    for (const auto& gpu : fs::directory_iterator("/proc/driver/nvidia/capabilities", none))
        for (const auto& entry : fs::directory_iterator(gpu.path() / "mig", none))
            if (entry.path().filename().string().rfind("gi", 0) == 0) return true;
    return false;
}

std::string one_line(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

std::string number(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

/// Why CUDA itself finds no device.
std::string why_no_device(const CudaFacts& facts) {
    const aggregation::CudaVersions& cuda = facts.cuda;
    if (cuda.driver == 0)
        return "no NVIDIA driver (libcuda.so.1 was not found); install it, or start the container with the GPU (--gpus all)";
    // Within one major version an older driver works.
    if (cuda.driver / 1000 < cuda.runtime / 1000)
        return fmt::format(
            "the NVIDIA driver is too old: it supports CUDA {}, but this build needs {}; update the driver, or build with a "
            "toolkit and a LibTorch for CUDA {}",
            number(cuda.driver), number(cuda.runtime), cuda.driver / 1000);
    if (facts.visible)
        return fmt::format("CUDA_VISIBLE_DEVICES={} names no existing GPU; name one (nvidia-smi -L lists them), or unset it",
                           *facts.visible);
    return "the driver finds no GPU; see nvidia-smi; a container must be started with the GPU (--gpus all)";
}

}  // namespace

IpcFacts collect_ipc_facts() {
    IpcFacts facts;
    utsname name{};
    if (uname(&name) == 0) facts.kernel_release = name.release;
    facts.mig_devices = mig_instances_exist();
    // The first PID namespace of a machine has this inode.
    struct stat own {};
    facts.own_pid_namespace = stat("/proc/self/ns/pid", &own) == 0 && own.st_ino != 0xEFFFFFFCU;
    const char* folder = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
    const std::string pipe = folder != nullptr ? folder : "/tmp/nvidia-mps";
    struct stat control {};
    if (stat((pipe + "/control").c_str(), &control) != 0) return facts;
    facts.mps_pipe = pipe;
    facts.mps_other_user = control.st_uid != getuid() && getuid() != 0;
    return facts;
}

std::vector<std::string> likely_ipc_causes(const IpcFacts& facts) {
    std::vector<std::string> causes;
    if (facts.kernel_release.find("icrosoft") != std::string::npos)
        causes.emplace_back("WSL2 does not support CUDA IPC; use Linux itself");
    if (facts.mig_devices)
        causes.emplace_back(
            "MIG: processes on different GPU instances cannot share memory; choose one: CUDA_VISIBLE_DEVICES=MIG-… (nvidia-smi "
            "-L)");
    if (facts.mps_other_user)
        causes.emplace_back("the MPS server belongs to another user; set CUDA_MPS_PIPE_DIRECTORY to your own folder");
    if (facts.own_pid_namespace)
        causes.emplace_back(
            "a container: all processes must share one PID namespace (run everything in one container, or --pid=host)");
    if (causes.empty()) causes.emplace_back("the driver and the CUDA runtime do not match, or the GPU is in an exclusive mode");
    return causes;
}

CudaFacts collect_cuda_facts(bool shared, bool libtorch_trains) {
    CudaFacts facts;
    facts.libtorch_trains = libtorch_trains;
    facts.cuda = aggregation::cuda_versions();
    facts.torch = clients::libtorch_info();
    if (libtorch_trains) facts.torch_devices = clients::libtorch_cuda_devices();
    if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES"); visible != nullptr) facts.visible = visible;
    facts.ipc = collect_ipc_facts();
    if (shared && (libtorch_trains ? facts.torch_devices : facts.cuda.devices) > 0) facts.ipc_problem = probe_ipc();
    return facts;
}

std::string why_no_cuda(const CudaFacts& facts) {
    const char* instead = "; or use cpu or auto";
    if (!facts.cuda.built)
        return fmt::format("this build has no CUDA: install a CUDA toolkit, run scripts/setup --cuda and build again{}",
                           instead);
    if (facts.libtorch_trains && !facts.torch.cuda_built)
        return fmt::format("this build has no CUDA training: run scripts/setup --cuda and build again{}", instead);
    if (facts.cuda.devices == 0) return one_line(why_no_device(facts)) + instead;
    if (facts.libtorch_trains && facts.torch_devices == 0)
        return fmt::format("LibTorch cannot use the GPU ({}); see `fedhive doctor`{}", one_line(facts.cuda.describe()),
                           instead);
    if (facts.ipc_problem.empty()) return "";
    return fmt::format(
        "workers share GPU memory by CUDA IPC, which does not work here: {}; likely reason: {}; or use cpu, or workers: 0, "
        "which needs no IPC",
        one_line(facts.ipc_problem), likely_ipc_causes(facts.ipc).front());
}

}  // namespace fedhive::sim
