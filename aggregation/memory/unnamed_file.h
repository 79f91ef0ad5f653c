// An unnamed file on a disk, mapped and shared by descriptor like a SharedSegment. Its contents may exceed the memory. The file
// disappears with the last process that holds it, however that process ends.
#pragma once

#include <boost/interprocess/mapped_region.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace fedhive::aggregation {

/// Whether the folder's file system is stored in memory (tmpfs, ramfs). False if the system cannot tell.
bool lies_in_memory(const std::filesystem::path& folder);

/// Whether an open file's file system is stored in memory.
bool lies_in_memory(int descriptor);

/// Bytes that this user may still write on the folder's file system; 0 if the system cannot tell.
std::uint64_t free_disk_bytes(const std::filesystem::path& folder);

class UnnamedFile {
public:
    /// Maps `bytes` zeroed bytes on the file system of `folder` read-write, and allocates disk space for the first `allocated` bytes. Who
    /// writes beyond these must first call posix_fallocate, since a write to a page without disk space ends in SIGBUS. Throws Fault
    /// naming the folder.
    UnnamedFile(const std::filesystem::path& folder, std::size_t allocated, std::size_t bytes);
    ~UnnamedFile();
    UnnamedFile(const UnnamedFile&) = delete;
    UnnamedFile& operator=(const UnnamedFile&) = delete;

    int descriptor() const { return descriptor_; }
    std::byte* data() const { return static_cast<std::byte*>(region_.get_address()); }

private:
    int descriptor_;
    boost::interprocess::mapped_region region_;
};

}  // namespace fedhive::aggregation
