#include "sim/machine/nvml.h"

#include "aggregation/memory/cuda_driver.h"
#include "sim/machine/machine.h"

#include <fmt/format.h>

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <memory>

namespace fedhive::sim {

namespace {

/// The parts of nvml.h that are needed here, as documented.
struct NvmlMemory {
    unsigned long long total, free, used;
};
struct NvmlProcess {
    unsigned pid;
    unsigned long long bytes;  // all ones if unknown
    unsigned gpu_instance, compute_instance;
};
using NvmlDevice = void*;
constexpr int kNvmlSuccess = 0;
constexpr unsigned kMostProcesses = 256;

class Nvml {
public:
    Nvml(const std::string& library, const FirstDevice& first_device)
        : library_(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        if (library_ == nullptr) return;
        const auto start = find<int()>("nvmlInit_v2");
        memory_ = find<int(NvmlDevice, NvmlMemory*)>("nvmlDeviceGetMemoryInfo");
        processes_ = find<int(NvmlDevice, unsigned*, NvmlProcess*)>("nvmlDeviceGetComputeRunningProcesses_v3");
        started_ = start != nullptr && start() == kNvmlSuccess;
        if (started_ && memory_ != nullptr && first_device) device_ = find_device(first_device());
    }
    ~Nvml() {
        if (library_ != nullptr) dlclose(library_);
    }
    Nvml(const Nvml&) = delete;
    Nvml& operator=(const Nvml&) = delete;

    std::optional<std::uint64_t> free_bytes() const {
        NvmlMemory memory{};
        if (device_ == nullptr || memory_(device_, &memory) != kNvmlSuccess) return std::nullopt;
        return memory.free;
    }

    std::vector<DeviceHolder> holders() const {
        std::vector<NvmlProcess> processes(kMostProcesses);
        unsigned count = kMostProcesses;
        if (device_ == nullptr || processes_ == nullptr || processes_(device_, &count, processes.data()) != kNvmlSuccess)
            return {};
        std::vector<DeviceHolder> holders;
        for (unsigned i = 0; i < count; ++i)
            holders.push_back({static_cast<pid_t>(processes[i].pid), processes[i].bytes + 1 == 0 ? 0 : processes[i].bytes});
        return holders;
    }

    std::vector<std::string> devices() const {
        if (!started_) return {};
        const auto count_of = find<int(unsigned*)>("nvmlDeviceGetCount_v2");
        const auto by_place = find<int(unsigned, NvmlDevice*)>("nvmlDeviceGetHandleByIndex_v2");
        const auto name_of = find<int(NvmlDevice, char*, unsigned)>("nvmlDeviceGetUUID");
        unsigned count = 0;
        if (by_place == nullptr || name_of == nullptr || count_of == nullptr || count_of(&count) != kNvmlSuccess) return {};
        std::vector<std::string> names;
        for (unsigned i = 0; i < count; ++i) {
            NvmlDevice device = nullptr;
            std::array<char, 96> name{};
            if (by_place(i, &device) != kNvmlSuccess) continue;
            if (is_cut(device) || name_of(device, name.data(), name.size()) != kNvmlSuccess) return {};
            names.emplace_back(name.data());
        }
        return names;
    }

private:
    template <typename Signature>
    Signature* find(const char* name) const {
        return reinterpret_cast<Signature*>(dlsym(library_, name));
    }

    /// Finds the device by UUID: NVML orders devices by bus, CUDA by speed. For a card divided into MIG instances NVML reports
    /// the memory of all of them, which no process has.
    NvmlDevice find_device(const std::string& uuid) const {
        const auto by_uuid = find<int(const char*, NvmlDevice*)>("nvmlDeviceGetHandleByUUID");
        NvmlDevice device = nullptr;
        if (by_uuid == nullptr || uuid.empty()) return nullptr;
        if (by_uuid(("MIG-" + uuid).c_str(), &device) == kNvmlSuccess) return device;
        const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
        std::string instance = visible == nullptr ? "" : visible;
        instance = instance.substr(0, instance.find(','));
        if (instance.rfind("MIG-", 0) == 0) return by_uuid(instance.c_str(), &device) == kNvmlSuccess ? device : nullptr;
        if (by_uuid(("GPU-" + uuid).c_str(), &device) != kNvmlSuccess) return nullptr;
        return is_cut(device) ? nullptr : device;
    }

    bool is_cut(NvmlDevice device) const {
        const auto mig_mode = find<int(NvmlDevice, unsigned*, unsigned*)>("nvmlDeviceGetMigMode");
        unsigned now = 0;
        unsigned next = 0;
        return mig_mode != nullptr && mig_mode(device, &now, &next) == kNvmlSuccess && now == 1;
    }

    void* library_;
    bool started_ = false;
    int (*memory_)(NvmlDevice, NvmlMemory*) = nullptr;
    int (*processes_)(NvmlDevice, unsigned*, NvmlProcess*) = nullptr;
    NvmlDevice device_ = nullptr;
};

std::string name_of(pid_t pid) {
    std::ifstream file(fmt::format("/proc/{}/comm", pid));
    std::string name;
    std::getline(file, name);
    return name;
}

}  // namespace

std::string uuid_of_first_device() { return aggregation::cuda_versions().device_uuid; }

FreeDeviceMemory nvml_free_memory(const std::string& library, const FirstDevice& first_device) {
    return [nvml = std::make_shared<Nvml>(library, first_device)] { return nvml->free_bytes(); };
}

std::vector<std::string> nvml_devices(const std::string& library) { return Nvml(library, {}).devices(); }

std::vector<DeviceHolder> nvml_holders(const std::string& library, const FirstDevice& first_device) {
    std::vector<DeviceHolder> holders = Nvml(library, first_device).holders();
    std::sort(holders.begin(), holders.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    return holders;
}

std::string describe_holders(const std::vector<DeviceHolder>& holders) {
    std::string text;
    for (const DeviceHolder& holder : holders) {
        if (holder.pid == getpid()) continue;
        const std::string name = name_of(holder.pid);  // empty if the process is outside of this container
        text += fmt::format("{} process {}{}{}", text.empty() ? "; held by" : ",", holder.pid,
                            name.empty() ? "" : fmt::format(" ({})", name),
                            holder.bytes == 0 ? "" : ": " + human_bytes(holder.bytes));
    }
    return text;
}

}  // namespace fedhive::sim
