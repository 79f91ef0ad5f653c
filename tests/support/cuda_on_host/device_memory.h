// Device memory: files in memory that other processes can open, between inaccessible guard pages. The host cannot access them,
// either, while no kernel and no copy runs. Addresses are never reused.
//
//   mapping ─> | guard page | slack | data … | guard page |
//
// Data end at the guard page, as far as cudaMalloc's alignment (256) allows.
#pragma once

#include <cuda_runtime_api.h>

#include "tests/support/cuda_on_host/random_order.h"

#include <cstddef>
#include <map>

namespace cuda_on_host {

enum class Owner { Device, Pinned, OtherProcess };

struct Block {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    Owner owner = Owner::Device;
    std::byte* mapping = nullptr;
    std::size_t mapped_bytes = 0;  // including both guards
    int descriptor = -1;
};

class DeviceMemory {
public:
    /// Memory filled with random bytes. nullptr if the limit or the system has no room.
    void* allocate(std::size_t bytes, Owner owner, RandomOrder& random);

    /// False if there is no such block, or a device block is still open elsewhere.
    bool release(const void* data, Owner owner);
    bool open_elsewhere(const void* data) const;

    cudaError_t export_handle(const void* data, cudaIpcMemHandle_t& handle) const;
    cudaError_t open_handle(const cudaIpcMemHandle_t& handle, void*& data);

    /// The block that contains all these bytes.
    const Block* holding(const void* first, std::size_t bytes) const;

    /// Describes the place of an address; false if it is not in or next to a block. Does not allocate.
    bool describe(const void* address, char* words, std::size_t size) const;

    /// Makes device memory accessible to the process, or not.
    void let_touch(bool touch);

    std::size_t used_bytes() const { return used_bytes_; }
    std::size_t limit_bytes = std::size_t{4} << 30;

private:
    Block* map(int descriptor, std::size_t file_bytes, std::size_t offset, std::size_t bytes, Owner owner);

    std::map<const void*, Block> blocks_;  // by data
    std::size_t used_bytes_ = 0;
    bool touchable_ = false;
};

}  // namespace cuda_on_host
