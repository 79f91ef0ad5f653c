// A file in memory with a path, for readers that take paths.
#pragma once

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string_view>

namespace fedhive::fuzz {

class MemoryFile {
public:
    MemoryFile() : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)) {
        if (descriptor_ < 0) throw std::runtime_error("memfd_create failed");
    }
    ~MemoryFile() { close(descriptor_); }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;

    int descriptor() const { return descriptor_; }
    std::filesystem::path path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

    void set(std::string_view content) const {
        if (ftruncate(descriptor_, 0) != 0 ||
            pwrite(descriptor_, content.data(), content.size(), 0) != static_cast<ssize_t>(content.size()))
            throw std::runtime_error("a file in memory cannot be written");
    }

private:
    int descriptor_;
};

}  // namespace fedhive::fuzz
