// Stands in for libnvidia-ml.so.1: device i has 100 + i bytes free, the one named GPU-fake 177.
#include <cstdint>
#include <cstring>

namespace {

struct Memory {
    unsigned long long total, free, used;
};

bool started = false;

}  // namespace

extern "C" {

int nvmlInit_v2() {
    started = true;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
    *device = reinterpret_cast<void*>(static_cast<std::uintptr_t>(100 + index));
    return started && index < 4 ? 0 : 2;
}

int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
    *device = reinterpret_cast<void*>(static_cast<std::uintptr_t>(177));
    return started && std::strcmp(uuid, "GPU-fake") == 0 ? 0 : 6;
}

int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
    memory->free = reinterpret_cast<std::uintptr_t>(device);
    return 0;
}
}
