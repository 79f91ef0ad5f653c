// Seeding and error translation for all training steps by LibTorch. Only for files that compile against LibTorch.
#pragma once

#include "aggregation/base/error.h"

#include <ATen/Context.h>

#include <cstdint>
#include <mutex>
#include <string>

namespace fedhive::clients {

/// Seeds the process's one generator, which serves all clients in turn, from the client's own key.
inline void seed_generator(at::Device device, std::uint64_t seed) {
    at::Generator generator = at::globalContext().defaultGenerator(device);
    const std::lock_guard lock(generator.mutex());
    generator.set_current_seed(seed);
}

/// Runs `work`; rethrows LibTorch's exceptions as OutOfMemory, DeviceFault or Fault, without their backtrace.
template <typename Work>
auto translated(Work work) {
    try {
        return work();
    } catch (const c10::OutOfMemoryError& error) {
        throw OutOfMemory(error.what_without_backtrace());
    } catch (const c10::AcceleratorError& error) {
        throw DeviceFault(error.what_without_backtrace());
    } catch (const c10::Error& error) {
        const std::string text = error.what_without_backtrace();
        if (text.find("can't allocate memory") != std::string::npos) throw OutOfMemory(text);
        if (text.find("CUDA error") != std::string::npos || text.find("CUDNN_STATUS") != std::string::npos)
            throw DeviceFault(text);
        throw Fault(text);
    }
}

}  // namespace fedhive::clients
