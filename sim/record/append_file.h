// A file that only grows, by one write(2) of whole lines at a time, so that a killed process leaves whole lines on almost every
// file system.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace fedhive::sim {

class AppendFile {
public:
    /// Opens the file at its end; creates it if missing. Throws Fault with the path; does not follow a symbolic link.
    explicit AppendFile(std::filesystem::path file);
    ~AppendFile();
    AppendFile(const AppendFile&) = delete;
    AppendFile& operator=(const AppendFile&) = delete;

    /// Throws Fault with path and reason (no space left, …). The file then has its old length again, if that is possible.
    void append(std::string_view lines);

    /// Cuts everything after `size` bytes, and computes the CRC of the rest.
    void cut(std::uint64_t size);

    /// Returns when everything is on the disk. Throws as expect_whole().
    void sync();

    /// Throws Fault if the path no longer names the opened file, or if its length is not what was written.
    void expect_whole() const;

    std::uint64_t size() const { return size_; }

    /// CRC-32 of its bytes. If the file was not empty when opened: valid from the first cut() on.
    std::uint32_t crc() const { return crc_; }

private:
    std::filesystem::path file_;
    int descriptor_;
    std::uint64_t size_ = 0;
    std::uint32_t crc_ = 0;
};

/// CRC-32 of the first `size` bytes of a file, or of all of it if it is shorter. Throws FileError.
std::uint32_t crc_of(const std::filesystem::path& file, std::uint64_t size);

}  // namespace fedhive::sim
