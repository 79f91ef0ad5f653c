// Device memory: files in memory, so that other processes can open them, between pages that nobody can touch. The host cannot touch the
// pages either while no kernel and no copy runs. No address is given out twice.
//
//   mapping ─> | guard page | slack | data … | guard page |      data end where the alignment of cudaMalloc (256) allows, next to the guard
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
    std::size_t mapped_bytes = 0;  // with both guards
    int descriptor = -1;
};

class DeviceMemory {
public:
    /// Full of rubbish. nullptr when the limit or the system has no room.
    void* allocate(std::size_t bytes, Owner owner, RandomOrder& random);

    /// False when there is no such block; a block of the device must not be open elsewhere.
    bool release(const void* data, Owner owner);
    bool open_elsewhere(const void* data) const;

    cudaError_t export_handle(const void* data, cudaIpcMemHandle_t& handle) const;
    cudaError_t open_handle(const cudaIpcMemHandle_t& handle, void*& data);

    /// The block that holds all these bytes.
    const Block* holding(const void* first, std::size_t bytes) const;

    /// Writes where an address lies, in words; false when that is not in or next to a block. Does not allocate.
    bool describe(const void* address, char* words, std::size_t size) const;

    /// Lets the process touch the memory of the device, or not.
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
