#include "aggregation/memory/param_buffer.h"

#include "aggregation/base/divide_up.h"
#include "aggregation/base/error.h"
#include "aggregation/memory/cuda_arena.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace fedhive::aggregation {

namespace {

constexpr std::size_t kAlignment = 256;

float* allocate(std::size_t size, MemorySpace space) {
    if (size > std::numeric_limits<std::size_t>::max() / sizeof(float) - kAlignment)
        throw OutOfMemory(fmt::format("a buffer of {} floats is larger than any memory", size));
    const std::size_t bytes = std::max<std::size_t>(kAlignment, round_up(size * sizeof(float), kAlignment));
    if (space == MemorySpace::Cuda) return static_cast<float*>(cuda_driver().allocate(bytes));
    void* memory = std::aligned_alloc(kAlignment, bytes);
    if (memory == nullptr) throw OutOfMemory(fmt::format("no memory for a buffer of {} bytes", bytes));
    std::memset(memory, 0, bytes);
    return static_cast<float*>(memory);
}

}  // namespace

ParamBuffer::ParamBuffer(std::size_t size, MemorySpace space)
    : floats_(allocate(size, space), Free(space)), size_(size), space_(space) {}

void ParamBuffer::Free::operator()(float* floats) const noexcept {
    if (space == MemorySpace::Host) {
        std::free(floats);
        return;
    }
    try {
        cuda_driver().free(floats);
    } catch (const std::exception&) {
        // The context is gone, and the memory with it.
    }
}

}  // namespace fedhive::aggregation
