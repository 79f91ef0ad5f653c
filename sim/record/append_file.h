// A file that only grows, one write(2) for whole lines, so that a process that is killed leaves whole lines on almost every file system.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace fedhive::sim {

class AppendFile {
public:
    /// Opens it at its end, created where it is missing. Throws Fault with the path.
    explicit AppendFile(std::filesystem::path file);
    ~AppendFile();
    AppendFile(const AppendFile&) = delete;
    AppendFile& operator=(const AppendFile&) = delete;

    /// Throws Fault with path and reason (no space left, …); the file is then as long as before, where that can be had.
    void append(std::string_view lines);

    /// Cuts everything after `size` bytes.
    void cut(std::uint64_t size);

    /// Waits until all of it is on the disk.
    void sync();

    std::uint64_t size() const { return size_; }

private:
    std::filesystem::path file_;
    int descriptor_;
    std::uint64_t size_ = 0;
};

}  // namespace fedhive::sim
