// A limit on LibTorch's allocations for host tensors, for the lifetime of an object. A graph that needs a thousand times the machine's
// memory then ends with an error, and the machine goes on.
#pragma once

#include <c10/core/CPUAllocator.h>

#include <cstdint>

namespace fedhive::clients::exported {

class BoundedMemory {
public:
    /// Allocations beyond a total of `most` live bytes throw c10::OutOfMemoryError. At most one object at a time; no other
    /// thread of the process may allocate tensors.
    explicit BoundedMemory(std::uint64_t most);
    ~BoundedMemory();
    BoundedMemory(const BoundedMemory&) = delete;
    BoundedMemory& operator=(const BoundedMemory&) = delete;

private:
    c10::Allocator* before_;
};

}  // namespace fedhive::clients::exported
