#include "tests/support/cuda_on_host/device_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace cuda_on_host {

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kAlignment = 256;  // of cudaMalloc

std::size_t rounded_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

/// Contents of a handle: the owning process and its file. The inode guards against reused descriptors.
struct Handle {
    pid_t process;
    int descriptor;
    ino_t inode;
    std::size_t offset;  // of the data in the file
    std::size_t bytes;
};
static_assert(sizeof(Handle) <= sizeof(cudaIpcMemHandle_t));

ino_t inode_of(int descriptor) {
    struct stat status = {};
    return fstat(descriptor, &status) == 0 ? status.st_ino : 0;
}

}  // namespace

void RandomOrder::fill(void* memory, std::size_t bytes) {
    auto* to = static_cast<std::byte*>(memory);
    for (std::size_t done = 0; done < bytes; done += sizeof(std::uint64_t)) {
        const std::uint64_t rubbish = next();
        std::memcpy(to + done, &rubbish, std::min(sizeof rubbish, bytes - done));
    }
}

/// Takes ownership of the descriptor.
Block* DeviceMemory::map(int descriptor, std::size_t file_bytes, std::size_t offset, std::size_t bytes, Owner owner) {
    const std::size_t mapped_bytes = file_bytes + 2 * kPage;
    void* const reserved = mmap(nullptr, mapped_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) {
        close(descriptor);
        return nullptr;
    }
    auto* const mapping = static_cast<std::byte*>(reserved);
    if (mmap(mapping + kPage, file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor, 0) == MAP_FAILED) {
        munmap(reserved, mapped_bytes);
        close(descriptor);
        return nullptr;
    }
    std::byte* const data = mapping + kPage + offset;
    return &(blocks_[data] = {data, bytes, owner, mapping, mapped_bytes, descriptor});
}

void* DeviceMemory::allocate(std::size_t bytes, Owner owner, RandomOrder& random) {
    const bool counts = owner == Owner::Device;
    if (counts && (bytes > limit_bytes || used_bytes_ > limit_bytes - bytes)) return nullptr;
    const std::size_t file_bytes = rounded_up(bytes, kPage);
    const int descriptor = memfd_create("cuda_on_host", MFD_CLOEXEC);
    if (descriptor < 0) return nullptr;
    if (ftruncate(descriptor, static_cast<off_t>(file_bytes)) != 0) {
        close(descriptor);
        return nullptr;
    }
    const std::size_t slack = (file_bytes - bytes) / kAlignment * kAlignment;
    const Block* const block = map(descriptor, file_bytes, slack, bytes, owner);
    if (block == nullptr) return nullptr;
    if (counts) used_bytes_ += bytes;
    random.fill(block->data, bytes);
    if (owner != Owner::Pinned && !touchable_) mprotect(block->mapping + kPage, file_bytes, PROT_NONE);
    return block->data;
}

bool DeviceMemory::release(const void* data, Owner owner) {
    const auto found = blocks_.find(data);
    if (found == blocks_.end() || found->second.owner != owner) return false;
    const Block& block = found->second;
    // The addresses stay reserved, so that a use of a stale pointer is detected.
    mmap(block.mapping, block.mapped_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    close(block.descriptor);
    if (owner == Owner::Device) used_bytes_ -= block.bytes;
    blocks_.erase(found);
    return true;
}

/// Openers hold a lock on the file, which the kernel releases even if they are killed.
bool DeviceMemory::open_elsewhere(const void* data) const {
    const auto found = blocks_.find(data);
    if (found == blocks_.end()) return false;
    if (flock(found->second.descriptor, LOCK_EX | LOCK_NB) != 0) return true;
    flock(found->second.descriptor, LOCK_UN);
    return false;
}

cudaError_t DeviceMemory::export_handle(const void* data, cudaIpcMemHandle_t& handle) const {
    const auto found = blocks_.find(data);
    if (found == blocks_.end() || found->second.owner != Owner::Device) return cudaErrorInvalidValue;
    const Block& block = found->second;
    Handle plain = {};
    plain.process = getpid();
    plain.descriptor = block.descriptor;
    plain.inode = inode_of(block.descriptor);
    plain.offset = static_cast<std::size_t>(block.data - block.mapping) - kPage;
    plain.bytes = block.bytes;
    std::memset(&handle, 0, sizeof handle);
    std::memcpy(&handle, &plain, sizeof plain);
    return cudaSuccess;
}

cudaError_t DeviceMemory::open_handle(const cudaIpcMemHandle_t& handle, void*& data) {
    Handle plain = {};
    std::memcpy(&plain, &handle, sizeof plain);
    if (plain.process == getpid()) return cudaErrorDeviceUninitialized;
    for (const auto& [at, block] : blocks_)
        if (block.owner == Owner::OtherProcess && inode_of(block.descriptor) == plain.inode) return cudaErrorAlreadyMapped;
    const std::string path = fmt::format("/proc/{}/fd/{}", plain.process, plain.descriptor);
    const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (descriptor < 0) return cudaErrorInvalidResourceHandle;
    if (inode_of(descriptor) != plain.inode || flock(descriptor, LOCK_SH | LOCK_NB) != 0) {
        close(descriptor);
        return cudaErrorInvalidResourceHandle;
    }
    const std::size_t file_bytes = rounded_up(plain.bytes, kPage);
    const Block* const block = map(descriptor, file_bytes, plain.offset, plain.bytes, Owner::OtherProcess);
    if (block == nullptr) return cudaErrorMemoryAllocation;
    if (!touchable_) mprotect(block->mapping + kPage, file_bytes, PROT_NONE);
    data = block->data;
    return cudaSuccess;
}

const Block* DeviceMemory::holding(const void* first, std::size_t bytes) const {
    const auto* const begin = static_cast<const std::byte*>(first);
    auto after = blocks_.upper_bound(begin);
    if (after == blocks_.begin()) return nullptr;
    const Block& block = (--after)->second;
    const auto offset = static_cast<std::size_t>(begin - block.data);
    return offset < block.bytes && bytes <= block.bytes - offset ? &block : nullptr;
}

bool DeviceMemory::describe(const void* address, char* words, std::size_t size) const {
    const auto* const at = static_cast<const std::byte*>(address);
    for (const auto& [data, block] : blocks_) {
        if (at < block.mapping || at >= block.mapping + block.mapped_bytes) continue;
        const std::byte* const end = block.data + block.bytes;
        const char* const relation = at < block.data ? "before" : at < end ? "in" : "after";
        std::snprintf(words, size, "byte %td %s a block of %zu bytes", at < end ? std::abs(at - block.data) : at - end,
                      relation, block.bytes);
        return true;
    }
    return false;
}

void DeviceMemory::let_touch(bool touch) {
    touchable_ = touch;
    for (const auto& [data, block] : blocks_)
        if (block.owner != Owner::Pinned)
            mprotect(block.mapping + kPage, block.mapped_bytes - 2 * kPage, touch ? PROT_READ | PROT_WRITE : PROT_NONE);
}

}  // namespace cuda_on_host
