// An anonymous segment of shared memory (memfd): it has no name, so nothing is left in /dev/shm or /tmp however a process ends, and
// it is not bound by the size of /dev/shm. Other processes of the run inherit its descriptor.
//
// SharedSegment owns the pages (they live as long as any mapping does); SharedSegmentView maps a descriptor that was inherited.
#pragma once

#include <boost/interprocess/mapped_region.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace fedhive::aggregation {

/// Memory this process may still take: the machine's, or what its cgroup (version 2, then 1) leaves, whichever is less. Bytes.
/// root: where proc and sys are found.
std::uint64_t available_memory_bytes(const std::filesystem::path& root = "/");

/// What lies behind an open descriptor, `bytes` of it. Throws Fault naming `what`.
boost::interprocess::mapped_region map_descriptor(int descriptor, std::size_t bytes, boost::interprocess::mode_t mode,
                                                  const std::string& what);

class SharedSegment {
public:
    /// `bytes` zeroed bytes, mapped read-write. `name` shows up in /proc/*/maps only.
    /// Throws Fault with wanted and available bytes when there is not enough memory; pages are allocated here, not at first touch,
    /// where running out would be a SIGBUS.
    SharedSegment(const std::string& name, std::size_t bytes) : SharedSegment(name, bytes, bytes) {}

    /// `bytes` mapped, of which pages are allocated for the first `allocated`; whoever writes behind them allocates before (posix_fallocate).
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
    /// Maps all of an inherited segment. Throws Fault when it is shorter than `least_bytes` or no segment at all.
    SharedSegmentView(int descriptor, std::size_t least_bytes, SegmentAccess access = SegmentAccess::ReadWrite);

    /// From this offset, a multiple of a page, to the end it can be read alone. Throws Fault where the system refuses.
    void protect(std::size_t from) const;

    std::byte* data() const { return static_cast<std::byte*>(region_.get_address()); }
    std::size_t size() const { return region_.get_size(); }

private:
    boost::interprocess::mapped_region region_;
};

}  // namespace fedhive::aggregation
