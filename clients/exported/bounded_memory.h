// A bound on what LibTorch allocates for tensors on the host, for as long as this object lives: a graph that asks for a thousand times the
// machine's memory is to end with an error, not with the machine.
#pragma once

#include <c10/core/CPUAllocator.h>

#include <cstdint>

namespace fedhive::clients::exported {

class BoundedMemory {
public:
    /// Beyond `most` bytes at a time, allocating throws c10::OutOfMemoryError. One at a time, in a process whose other threads allocate no tensors.
    explicit BoundedMemory(std::uint64_t most);
    ~BoundedMemory();
    BoundedMemory(const BoundedMemory&) = delete;
    BoundedMemory& operator=(const BoundedMemory&) = delete;

private:
    c10::Allocator* before_;
};

}  // namespace fedhive::clients::exported
