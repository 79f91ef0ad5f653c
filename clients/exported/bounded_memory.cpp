#include "clients/exported/bounded_memory.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

namespace fedhive::clients::exported {

namespace {

/// Counts live bytes; each block begins with its size. It lives as long as the process: tensors keep its deleter.
class CountingAllocator final : public c10::Allocator {
public:
    static CountingAllocator& instance() {
        static CountingAllocator allocator;
        return allocator;
    }

    void allow(std::uint64_t most) {
        most_ = most;
        used_ = 0;
    }

    c10::DataPtr allocate(std::size_t bytes) override {
        const std::uint64_t used = used_;
        char* block = nullptr;
        if (bytes <= most_ - std::min(most_, used))
            block = static_cast<char*>(std::aligned_alloc(kHead, (bytes / kHead + 2) * kHead));
        TORCH_CHECK_WITH(OutOfMemoryError, block != nullptr, bytes, " bytes are too much");
        used_ += bytes;
        std::memcpy(block, &bytes, sizeof(bytes));
        return {block + kHead, block + kHead, &release, c10::Device(c10::kCPU)};
    }
    c10::DeleterFnPtr raw_deleter() const override { return &release; }
    void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }

private:
    static constexpr std::size_t kHead = 64;  // LibTorch's alignment

    static void release(void* data) {
        char* block = static_cast<char*>(data) - kHead;
        std::size_t bytes = 0;
        std::memcpy(&bytes, block, sizeof(bytes));
        instance().used_ -= bytes;
        std::free(block);
    }

    std::uint64_t most_ = 0;
    std::atomic<std::uint64_t> used_ = 0;
};

}  // namespace

BoundedMemory::BoundedMemory(std::uint64_t most) : before_(c10::GetCPUAllocator()) {
    CountingAllocator::instance().allow(most);
    c10::SetCPUAllocator(&CountingAllocator::instance());
}

BoundedMemory::~BoundedMemory() { c10::SetCPUAllocator(before_); }

}  // namespace fedhive::clients::exported
