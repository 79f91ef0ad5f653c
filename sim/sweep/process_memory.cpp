#include "sim/sweep/process_memory.h"

#include <fmt/format.h>

#include <dlfcn.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

namespace fedhive::sim {

namespace fs = std::filesystem;

namespace {

/// A line such as "Pss:   1234 kB", in bytes.
std::optional<std::uint64_t> read_kilobytes(const std::string& file, const std::string& key) {
    std::ifstream stream(file);
    for (std::string word; stream >> word;) {
        std::uint64_t value = 0;
        if (word == key && stream >> value) return value * 1024;
    }
    return std::nullopt;
}

std::uint64_t memory_of(pid_t pid) {
    const auto shared = read_kilobytes(fmt::format("/proc/{}/smaps_rollup", pid), "Pss:");
    return shared ? *shared : read_kilobytes(fmt::format("/proc/{}/status", pid), "VmRSS:").value_or(0);
}

void add_tree(pid_t root, std::vector<pid_t>& tree) {
    std::error_code gone;
    const fs::path tasks = fmt::format("/proc/{}/task", root);
    if (!fs::exists(tasks, gone)) return;
    tree.push_back(root);
    std::vector<pid_t> children;
    for (fs::directory_iterator task(tasks, gone), end; !gone && task != end; task.increment(gone)) {
        std::ifstream list(task->path() / "children");
        for (pid_t pid = 0; list >> pid;) children.push_back(pid);
    }
    for (const pid_t child : children) add_tree(child, tree);
}

/// The few things of nvml.h that are needed here, as its documentation gives them.
struct NvmlMemory {
    unsigned long long total, free, used;
};
using NvmlDevice = void*;
constexpr int kNvmlSuccess = 0;

class Nvml {
public:
    explicit Nvml(const std::string& library) : library_(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        if (library_ == nullptr) return;
        const auto start = find<int()>("nvmlInit_v2");
        memory_ = find<int(NvmlDevice, NvmlMemory*)>("nvmlDeviceGetMemoryInfo");
        if (start != nullptr && memory_ != nullptr && start() == kNvmlSuccess) device_ = find_device();
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

private:
    template <typename Signature>
    Signature* find(const char* name) const {
        return reinterpret_cast<Signature*>(dlsym(library_, name));
    }

    NvmlDevice find_device() const {
        const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");  // "1,0", "GPU-8932f937-…", "MIG-…"
        std::string first = visible == nullptr ? "0" : visible;
        first = first.substr(0, first.find(','));
        unsigned index = 0;
        const auto [end, error] = std::from_chars(first.data(), first.data() + first.size(), index);
        const bool is_index = error == std::errc() && end == first.data() + first.size();
        const auto by_index = find<int(unsigned, NvmlDevice*)>("nvmlDeviceGetHandleByIndex_v2");
        const auto by_uuid = find<int(const char*, NvmlDevice*)>("nvmlDeviceGetHandleByUUID");
        NvmlDevice device = nullptr;
        if (by_index == nullptr || by_uuid == nullptr) return nullptr;
        const int result = is_index ? by_index(index, &device) : by_uuid(first.c_str(), &device);
        return result == kNvmlSuccess ? device : nullptr;
    }

    void* library_;
    int (*memory_)(NvmlDevice, NvmlMemory*) = nullptr;
    NvmlDevice device_ = nullptr;
};

}  // namespace

std::vector<pid_t> process_tree(pid_t root) {
    std::vector<pid_t> tree;
    add_tree(root, tree);
    return tree;
}

std::uint64_t tree_memory(pid_t root) {
    std::uint64_t bytes = 0;
    for (const pid_t pid : process_tree(root)) bytes += memory_of(pid);
    return bytes;
}

FreeDeviceMemory nvml_free_memory(const std::string& library) {
    return [nvml = std::make_shared<Nvml>(library)] { return nvml->free_bytes(); };
}

}  // namespace fedhive::sim
