#include "aggregation/memory/cuda_block.h"

#include "aggregation/base/divide_up.h"

#include <exception>

namespace fedhive::aggregation {

namespace {

/// Rounds up to whole 2 MiB pages: an IPC handle shares the driver's whole block, from which smaller allocations are cut.
std::size_t whole_pages(std::size_t bytes) {
    constexpr std::size_t kPage = std::size_t{2} << 20;
    return round_up(bytes, kPage);
}

}  // namespace

CudaBlock::CudaBlock(CudaDriver& driver, std::size_t bytes)
    : driver_(driver), data_(static_cast<std::byte*>(driver.allocate(whole_pages(bytes)))) {
    try {
        handle_ = driver_.export_handle(data_);
    } catch (...) {
        driver_.free(data_);
        throw;
    }
}

CudaBlock::~CudaBlock() {
    try {
        driver_.free(data_);
    } catch (const std::exception&) {
        // The context is gone, and the memory with it.
    }
}

CudaBlockView::CudaBlockView(CudaDriver& driver, const IpcHandle& handle)
    : driver_(driver), data_(static_cast<std::byte*>(driver.open_handle(handle))) {}

CudaBlockView::~CudaBlockView() {
    try {
        driver_.close_handle(data_);
    } catch (const std::exception&) {
        // The context is gone, and the mapping with it.
    }
}

}  // namespace fedhive::aggregation
