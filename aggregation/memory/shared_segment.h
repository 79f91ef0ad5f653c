// An anonymous segment of shared memory (memfd). It has no name, so that nothing remains in /dev/shm or /tmp however a process
// ends, and the size of /dev/shm does not limit it. Other processes of the run inherit its descriptor.
//
// SharedSegment creates the segment; SharedSegmentView maps an inherited descriptor. Pages live as long as any mapping of them.
#pragma once

#include <boost/interprocess/mapped_region.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace fedhive::aggregation {

/// Bytes of memory that this process may still allocate: the smaller of what the machine has and what its cgroup (version 2 or
/// 1) leaves. root: the folder that contains proc and sys.
std::uint64_t available_memory_bytes(const std::filesystem::path& root = "/");

/// Maps the first `bytes` bytes of an open descriptor. Throws Fault naming `what`.
boost::interprocess::mapped_region map_descriptor(int descriptor, std::size_t bytes, boost::interprocess::mode_t mode,
                                                  const std::string& what);

class SharedSegment {
public:
    /// Maps `bytes` zeroed bytes read-write. `name` shows up in /proc/*/maps only. All pages are allocated here, since running
    /// out of memory at the first write would be a SIGBUS. Throws Fault with wanted and available bytes if memory does not suffice.
    SharedSegment(const std::string& name, std::size_t bytes) : SharedSegment(name, bytes, bytes) {}

    /// Maps `bytes` bytes, zeroed, and allocates pages for the first `allocated` bytes. Who writes beyond these must first allocate pages
    /// with posix_fallocate.
    SharedSegment(const std::string& name, std::size_t allocated, std::size_t bytes);
    ~SharedSegment();
    SharedSegment(const SharedSegment&) = delete;
    SharedSegment& operator=(const SharedSegment&) = delete;

    int descriptor() const { return descriptor_; }
    std::byte* data() const { return static_cast<std::byte*>(region_.get_address()); }
    std::size_t size() const { return region_.get_size(); }

private:
    int descriptor_;
    boost::interprocess::mapped_region region_;
};

enum class SegmentAccess { ReadOnly, ReadWrite };

class SharedSegmentView {
public:
    /// Maps the whole inherited segment. Throws Fault if the descriptor is not a segment of at least `least_bytes` bytes.
    SharedSegmentView(int descriptor, std::size_t least_bytes, SegmentAccess access = SegmentAccess::ReadWrite);

    /// Makes the bytes from offset `from` (a multiple of the page size) to the end read-only. Throws Fault if the system refuses.
    void protect(std::size_t from) const;

    std::byte* data() const { return static_cast<std::byte*>(region_.get_address()); }
    std::size_t size() const { return region_.get_size(); }

private:
    boost::interprocess::mapped_region region_;
};

}  // namespace fedhive::aggregation
