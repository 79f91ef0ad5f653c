// A stand-in for libnvidia-ml.so.1: GPU-fake has 177 bytes free; GPU-cut is a card with MIG instances, MIG-part (33 bytes free)
// among them. GPU-fake is used by process FAKE_NVML_PID and by one whose memory is unknown.
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

struct Memory {
    unsigned long long total, free, used;
};
struct Process {
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
};

constexpr std::uintptr_t kWhole = 177;
constexpr std::uintptr_t kCut = 900;
constexpr std::uintptr_t kPart = 33;
constexpr int kNotFound = 6;

bool started = false;

}  // namespace

extern "C" {

int nvmlInit_v2() {
    started = true;
    return 0;
}

int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
    const std::uintptr_t found = std::strcmp(uuid, "GPU-fake") == 0   ? kWhole
                                 : std::strcmp(uuid, "GPU-cut") == 0  ? kCut
                                 : std::strcmp(uuid, "MIG-part") == 0 ? kPart
                                                                      : 0;
    *device = reinterpret_cast<void*>(found);
    return started && found != 0 ? 0 : kNotFound;
}

/// The number of devices is the length of FAKE_NVML_DEVICES: f is GPU-fake, c is GPU-cut.
int nvmlDeviceGetCount_v2(unsigned* count) {
    const char* devices = std::getenv("FAKE_NVML_DEVICES");
    *count = devices == nullptr ? 0 : static_cast<unsigned>(std::strlen(devices));
    return started ? 0 : kNotFound;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
    const char* devices = std::getenv("FAKE_NVML_DEVICES");
    *device = reinterpret_cast<void*>(devices != nullptr && devices[index] == 'c' ? kCut : kWhole);
    return 0;
}

int nvmlDeviceGetUUID(void* device, char* name, unsigned size) {
    std::strncpy(name, reinterpret_cast<std::uintptr_t>(device) == kCut ? "GPU-cut" : "GPU-fake", size);
    return 0;
}

int nvmlDeviceGetMigMode(void* device, unsigned* now, unsigned* next) {
    *now = *next = reinterpret_cast<std::uintptr_t>(device) == kCut ? 1 : 0;
    return 0;
}

int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
    memory->free = reinterpret_cast<std::uintptr_t>(device);
    return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, Process* processes) {
    const char* pid = std::getenv("FAKE_NVML_PID");
    if (reinterpret_cast<std::uintptr_t>(device) != kWhole || pid == nullptr || *count < 2) return kNotFound;
    processes[0] = {4194305, ~0ULL, 0, 0};  // larger than any process id
    processes[1] = {static_cast<unsigned>(std::strtoul(pid, nullptr, 10)), 3ULL << 30U, 0, 0};
    *count = 2;
    return 0;
}
}
