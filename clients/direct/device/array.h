// An array in device memory, private to this process. Host writes are ordered with the kernels that read it.
#pragma once

#include "aggregation/math/dispatch.h"
#include "aggregation/math/vector_ops.h"
#include "aggregation/memory/cuda_driver.h"
#include "clients/direct/device/block_kernels.h"

#include <exception>
#include <span>
#include <type_traits>

namespace fedhive::clients::direct::device {

template <typename T>
class DeviceArray {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    DeviceArray() = default;
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;
    ~DeviceArray() { release(); }

    /// Capacity for `size` values; growing loses the contents. Throws OutOfMemory with the requested bytes.
    void reserve(std::size_t size) {
        if (size <= size_) return;
        if (values_ != nullptr) aggregation::synchronize(aggregation::MemorySpace::Cuda);  // a kernel may still read it
        release();
        values_ = static_cast<T*>(aggregation::cuda_driver().allocate(size * sizeof(T)));
        size_ = size;
    }

    /// Copies `values` to the device. The copy is enqueued; `values` may change as soon as this returns.
    void write(std::span<const T> values) {
        reserve(values.size());
        aggregation::dispatch(
            aggregation::MemorySpace::Cuda, [] {},
            [&] { return kernels::copy_bytes(values_, values.data(), values.size() * sizeof(T)); });
    }

    T* data() const { return values_; }

private:
    void release() noexcept {
        try {
            if (values_ != nullptr) aggregation::cuda_driver().free(values_);
        } catch (const std::exception&) {
            // The CUDA context is destroyed, and with it the memory.
        }
        values_ = nullptr;
        size_ = 0;
    }

    T* values_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace fedhive::clients::direct::device
