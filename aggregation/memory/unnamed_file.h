// A file on a disk that has no name, mapped and shared by descriptor as a SharedSegment is: what it holds need not fit the memory, and however a
// process ends, the file goes with the last one that has it.
#pragma once

#include <boost/interprocess/mapped_region.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace fedhive::aggregation {

/// The folder's file system is one that lies in memory (tmpfs, ramfs).
bool lies_in_memory(const std::filesystem::path& folder);

/// The same of an open file. False where the system does not say.
bool lies_in_memory(int descriptor);

/// Of the folder's file system, what this user may still write. 0 where the system does not say.
std::uint64_t free_disk_bytes(const std::filesystem::path& folder);

class UnnamedFile {
public:
    /// `bytes` zeroed bytes in the file system of `folder`, mapped read-write, of which the disk holds the first `allocated`; whoever writes behind
    /// them allocates before (posix_fallocate): a page that the disk has no room for is a SIGBUS. Throws Fault naming the folder.
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
