// The arena in GPU memory: the coordinator owns one block, and each worker opens it (cuda_block.h).
//
//   worker   open ── copy, train, write slots ── close, exit
#pragma once

#include "aggregation/memory/arena.h"
#include "aggregation/memory/cuda_block.h"

namespace fedhive::aggregation {

class CudaArena final : public Arena {
public:
    /// Throws Fault with the bytes wanted when the device has no room.
    CudaArena(CudaDriver& driver, const ArenaGeometry& geometry)
        : Arena(geometry, MemorySpace::Cuda), block_(driver, geometry.total_bytes()) {
        base_ = block_.data();
    }

    IpcHandle handle() const override { return block_.handle(); }

private:
    CudaBlock block_;
};

class CudaArenaView final : public Arena {
public:
    CudaArenaView(CudaDriver& driver, const IpcHandle& handle, const ArenaGeometry& geometry)
        : Arena(geometry, MemorySpace::Cuda), block_(driver, handle) {
        base_ = block_.data();
    }

private:
    CudaBlockView block_;
};

}  // namespace fedhive::aggregation
