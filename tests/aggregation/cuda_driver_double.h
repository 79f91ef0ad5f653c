// A CUDA driver double that keeps books in host memory: which process allocated, exported and opened what. Misuse that CUDA
// leaves undefined throws here; it is also recorded, since destructors swallow exceptions.
#pragma once

#include "aggregation/base/error.h"
#include "aggregation/memory/cuda_arena.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace fedhive::aggregation::testing {

/// The device that all processes of a test share.
struct DeviceBooks {
    struct Allocation {
        int owner = 0;
        std::size_t bytes = 0;
        std::multiset<int> openers;  // process ids
    };
    struct Release {
        void operator()(void* pages) const { std::free(pages); }
    };
    std::vector<std::unique_ptr<void, Release>>
        memory;  // freed at the end only: no address is reused, so stale ones stay stale
    std::map<void*, Allocation> allocations;
    std::map<std::uint64_t, void*> handles;  // serial number -> memory; kept after free, as real handles are
    std::size_t limit_bytes = std::size_t{1} << 30;
    std::vector<std::string> misuse;

    bool empty() const { return allocations.empty(); }
    [[noreturn]] void refuse(const std::string& what) {
        misuse.push_back(what);
        throw Fault(what);
    }
};

/// The driver as process `process_id` uses it.
class CudaDriverDouble final : public CudaDriver {
public:
    CudaDriverDouble(DeviceBooks& books, int process_id) : books_(books), process_id_(process_id) {}

    void* allocate(std::size_t bytes) override {
        if (bytes > books_.limit_bytes) throw Fault(fmt::format("cudaMalloc of {} bytes: out of memory", bytes));
        void* const memory = books_.memory.emplace_back(std::aligned_alloc(256, bytes)).get();
        std::memset(memory, 0, bytes);
        books_.allocations[memory] = {process_id_, bytes, {}};
        return memory;
    }

    void* allocate_pinned(std::size_t bytes) override { return std::calloc(1, bytes); }
    void free_pinned(void* memory) override { std::free(memory); }

    void upload(void* to, const void* from, std::size_t bytes) override {
        if (own(to, "upload").bytes < bytes) books_.refuse("upload of more than was allocated");
        std::memcpy(to, from, bytes);
    }

    void free(void* memory) override {
        DeviceBooks::Allocation& allocation = own(memory, "free");
        if (!allocation.openers.empty()) books_.refuse("free before every opener has closed");
        books_.allocations.erase(memory);
    }

    IpcHandle export_handle(void* memory) override {
        own(memory, "export");
        const std::uint64_t serial = books_.handles.size() + 1;
        books_.handles[serial] = memory;
        IpcHandle handle;
        std::memcpy(handle.bytes.data(), &serial, sizeof serial);
        return handle;
    }

    void* open_handle(const IpcHandle& handle) override {
        std::uint64_t serial = 0;
        std::memcpy(&serial, handle.bytes.data(), sizeof serial);
        if (!books_.handles.contains(serial)) books_.refuse("open of something that is no handle");
        void* memory = books_.handles.at(serial);
        if (!books_.allocations.contains(memory)) books_.refuse("open of a handle to freed memory");
        DeviceBooks::Allocation& allocation = books_.allocations.at(memory);
        if (allocation.owner == process_id_) books_.refuse("open in the process that exported");
        allocation.openers.insert(process_id_);
        return memory;
    }

    void close_handle(void* memory) override {
        if (!books_.allocations.contains(memory)) books_.refuse("close of freed memory");
        std::multiset<int>& openers = books_.allocations.at(memory).openers;
        const auto opened = openers.find(process_id_);
        if (opened == openers.end()) books_.refuse("close of what this process has not open");
        openers.erase(opened);
    }

    std::size_t free_bytes() override {
        std::size_t used = 0;
        for (const auto& [memory, allocation] : books_.allocations) used += allocation.bytes;
        return used < books_.limit_bytes ? books_.limit_bytes - used : 0;
    }

private:
    DeviceBooks::Allocation& own(void* memory, const char* verb) {
        if (!books_.allocations.contains(memory)) books_.refuse(std::string(verb) + " of memory that is not allocated");
        if (books_.allocations.at(memory).owner != process_id_)
            books_.refuse(std::string(verb) + " by a process that is not the owner");
        return books_.allocations.at(memory);
    }

    DeviceBooks& books_;
    int process_id_;
};

}  // namespace fedhive::aggregation::testing
