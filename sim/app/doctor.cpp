#include "sim/app/commands.h"
#include "sim/machine/cuda_refusal.h"
#include "sim/machine/ipc_probe.h"
#include "sim/machine/machine.h"
#include "sim/version.h"
#include "sim/workers/mps.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace fedhive::sim {

namespace {

/// Facts about the machine, collected once; printed as lines or as JSON.
struct Findings {
    Machine machine = this_machine();
    clients::LibtorchPlace libtorch = clients::libtorch_place();
    CudaFacts facts = collect_cuda_facts(false);
    std::string why_no_mps = sim::why_no_mps(facts.cuda.devices > 0);
    std::string ipc_problem = facts.cuda.devices > 0 ? probe_ipc() : "";

    /// Empty if a run can train on the GPU.
    std::string why_no_training() const {
        CudaFacts all = facts;
        all.ipc_problem = ipc_problem;
        return why_no_cuda(all);
    }
};

void print_gpu(const Findings& found) {
    fmt::print("cuda        {}\n", found.facts.cuda.describe());
    fmt::print("training    {}\n",
               !found.libtorch.problem.empty() ? "the direct engine alone, on the CPU"
               : found.facts.torch.cuda_built
                   ? fmt::format("LibTorch with CUDA, {} usable device(s)", found.facts.torch_devices)
                   : "LibTorch without CUDA: training runs on the CPU (scripts/setup --cuda installs the CUDA build)");
    fmt::print(
        "mps         {}; {}\n", found.facts.ipc.mps_pipe.empty() ? "not running" : "running, pipe " + found.facts.ipc.mps_pipe,
        found.why_no_mps.empty() ? "a run can start its own daemon (mps: on)" : "not available for a run: " + found.why_no_mps);
    if (found.facts.cuda.devices == 0) {
        fmt::print("ipc         not probed: there is no CUDA device; host memory is used\n");
    } else if (found.ipc_problem.empty()) {
        fmt::print("ipc         a child process opened an IPC handle, read and wrote: works\n");
    } else {
        fmt::print("ipc         does not work: {}\n", found.ipc_problem);
        for (const std::string& cause : likely_ipc_causes(found.facts.ipc)) fmt::print("            likely: {}\n", cause);
    }
    const std::string why = found.why_no_training();
    CudaFacts without = found.facts;
    without.ipc_problem = found.ipc_problem;
    without.libtorch_trains = false;
    const bool direct = !why.empty() && why_no_cuda(without).empty();
    fmt::print("device      {}\n",
               why.empty() ? "cuda is available"
               : direct ? "cuda is available with device: cuda for models that the direct engine supports; for others: " + why
                        : "cuda is not available: " + why);
}

void print_json(const Findings& found) {
    const bool probed = found.facts.cuda.devices > 0;
    const bool works = probed && found.ipc_problem.empty();
    nlohmann::ordered_json json;
    json["fedhive"] = kVersion;
    json["commit"] = kCommit;
    json["cpu"] = found.machine.cpu;
    json["cores"] = found.machine.cores;
    json["available_memory_bytes"] = found.machine.available_memory;
    json["libtorch"] = found.facts.torch.version;
    json["libtorch_folder"] =
        found.libtorch.folder.empty() ? nlohmann::json(nullptr) : nlohmann::json(found.libtorch.folder.string());
    json["libtorch_problem"] =
        found.libtorch.problem.empty() ? nlohmann::json(nullptr) : nlohmann::json(found.libtorch.problem);
    json["cpu_capability"] = found.facts.torch.cpu_capability;
    json["cuda"] = found.facts.cuda.describe();
    json["cuda_devices"] = found.facts.cuda.devices;
    json["libtorch_with_cuda"] = found.facts.torch.cuda_built;
    const std::string why = found.why_no_training();
    json["cuda_problem"] = why.empty() ? nlohmann::json(nullptr) : nlohmann::json(why);
    json["training_devices"] = found.facts.torch_devices;
    json["mps_running"] = !found.facts.ipc.mps_pipe.empty();
    json["mps_problem"] = found.why_no_mps.empty() ? nlohmann::json(nullptr) : nlohmann::json(found.why_no_mps);
    json["ipc_works"] = probed ? nlohmann::json(works) : nlohmann::json(nullptr);
    json["ipc_problem"] = probed && !works ? nlohmann::json(found.ipc_problem) : nlohmann::json(nullptr);
    json["ipc_likely_causes"] = probed && !works ? likely_ipc_causes(found.facts.ipc) : std::vector<std::string>{};
    fmt::print("{}\n", json.dump(2));
}

}  // namespace

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
    const clients::LibtorchPlace& torch = found.libtorch;
    fmt::print("libtorch    {}{} · CPU capability {}\n", torch.version,
               torch.folder.empty() ? "" : " in " + torch.folder.string(), found.facts.torch.cpu_capability);
    if (!torch.problem.empty()) fmt::print("            {}\n", torch.problem);
    print_gpu(found);
    return 0;
}

}  // namespace fedhive::sim
