// A file that only grows, one write(2) for whole lines, so that a process that is killed leaves whole lines on almost every file system.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace fedhive::sim {

class AppendFile {
public:
    /// Opens it at its end, created where it is missing. Throws Fault with the path; a symbolic link is not followed.
    explicit AppendFile(std::filesystem::path file);
    ~AppendFile();
    AppendFile(const AppendFile&) = delete;
    AppendFile& operator=(const AppendFile&) = delete;

    /// Throws Fault with path and reason (no space left, …); the file is then as long as before, where that can be had.
    void append(std::string_view lines);

    /// Cuts everything after `size` bytes, and looks at what is left.
    void cut(std::uint64_t size);

    /// Waits until all of it is on the disk. Throws as expect_whole().
    void sync();

    /// Throws Fault where the file under this name is not the one that was opened, or is not as long as what was written.
    void expect_whole() const;

    std::uint64_t size() const { return size_; }

    /// CRC-32 of its bytes. Of a file that was not empty when it was opened: from the first cut() on.
    std::uint32_t crc() const { return crc_; }

private:
    std::filesystem::path file_;
    int descriptor_;
    std::uint64_t size_ = 0;
    std::uint32_t crc_ = 0;
};

/// CRC-32 of the first `size` bytes of a file. Throws FileError; where it is shorter, of all of them.
std::uint32_t crc_of(const std::filesystem::path& file, std::uint64_t size);

}  // namespace fedhive::sim
