// An array of plain values in host memory that a CUDA device can write, to be read after the device has finished: pinned memory for
// MemorySpace::Cuda, ordinary memory for Host.
#pragma once

#include "aggregation/memory/cuda_driver.h"
#include "aggregation/memory/param_span.h"

#include <exception>
#include <type_traits>
#include <vector>

namespace fedhive::aggregation {

template <typename T>
class PinnedArray {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    explicit PinnedArray(MemorySpace space) : space_(space) {}
    PinnedArray(const PinnedArray&) = delete;
    PinnedArray& operator=(const PinnedArray&) = delete;
    ~PinnedArray() { release(); }

    /// Makes room for `size` values. Growing discards the old values; no device work may still be writing to them.
    void reserve(std::size_t size) {
        if (size <= size_) return;
        release();
        if (space_ == MemorySpace::Cuda) {
            values_ = static_cast<T*>(cuda_driver().allocate_pinned(size * sizeof(T)));
        } else {
            ordinary_.resize(size);
            values_ = ordinary_.data();
        }
        size_ = size;
    }
    T& operator[](std::size_t index) { return values_[index]; }  // index < the largest size asked for

private:
    void release() noexcept {
        try {
            if (space_ == MemorySpace::Cuda && values_ != nullptr) cuda_driver().free_pinned(values_);
        } catch (const std::exception&) {
            // The context is gone, and the memory with it.
        }
        values_ = nullptr;
        size_ = 0;
    }

    MemorySpace space_;
    std::vector<T> ordinary_;
    T* values_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace fedhive::aggregation
