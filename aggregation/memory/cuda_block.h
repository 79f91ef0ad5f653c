// A GPU allocation shared between processes: its owner calls cudaMalloc once and exports one IPC handle; each
// other process opens the handle once.
//
//   coordinator   allocate ── export handle ──────────────────────────── (workers reaped) ── free
//   worker                        open ── read, write ── close, exit
//
// Freeing the memory before every opener has closed it is undefined behaviour. Ownership fixes the
// order: a CudaBlock outlives the fleet.
// A handle cannot be opened in the process that exported it.
// Source: CUDA Programming Guide, "Interprocess Communication".
#pragma once

#include "aggregation/memory/cuda_driver.h"

namespace fedhive::aggregation {

class CudaBlock {
public:
    /// Throws Fault with the bytes wanted when the device has no room. The driver must outlive the block.
    CudaBlock(CudaDriver& driver, std::size_t bytes);
    CudaBlock(const CudaBlock&) = delete;
    CudaBlock& operator=(const CudaBlock&) = delete;
    ~CudaBlock();

    std::byte* data() const { return data_; }
    const IpcHandle& handle() const { return handle_; }

private:
    CudaDriver& driver_;
    std::byte* data_;
    IpcHandle handle_;
};

/// The same memory in another process.
class CudaBlockView {
public:
    CudaBlockView(CudaDriver& driver, const IpcHandle& handle);
    CudaBlockView(const CudaBlockView&) = delete;
    CudaBlockView& operator=(const CudaBlockView&) = delete;
    ~CudaBlockView();

    std::byte* data() const { return data_; }

private:
    CudaDriver& driver_;
    std::byte* data_;
};

}  // namespace fedhive::aggregation
