// NumPy's .npz: a zip archive with one array per member. libzip reads the zip; no allocation exceeds what the file can hold.
#pragma once

#include "aggregation/base/input_file.h"
#include "clients/data/formats/npy.h"
#include "clients/data/zip_handles.h"

#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace fedhive::clients {

/// One array of an archive (which must outlive it), read sequentially.
class NpzArray {
public:
    const NpyHeader& header() const { return header_; }
    const std::string& name() const { return name_; }

    /// Reads to.size() bytes. Throws ConfigError if fewer are left, or they are damaged.
    void read(std::span<char> to);

    /// Checks that nothing follows the last value, and the checksum.
    void expect_end();

    /// Throws ConfigError "FILE: ARRAY: what; mend it: `line`"; `line` is Python.
    [[noreturn]] void fail(const std::string& what, const std::string& line) const;

private:
    friend class NpzArchive;

    NpzArray(std::string file, std::string name, ZipMember opened)
        : file_(std::move(file)), name_(std::move(name)), opened_(std::move(opened)) {}
    std::size_t read_some(std::span<char> to);

    std::string file_;
    std::string name_;
    ZipMember opened_;
    NpyHeader header_;
};

class NpzArchive {
public:
    /// Throws ConfigError: missing, not a zip archive, truncated.
    explicit NpzArchive(const std::filesystem::path& file);

    bool has(const std::string& name) const { return member_of(name).has_value(); }

    /// Opens an array after checking its header: C order, a number type, a size that the file can hold, that matches the shape,
    /// and that fits into memory. Throws ConfigError, also if there is no such array or it is encrypted.
    NpzArray open(const std::string& name) const;

private:
    /// Index by NumPy's rule: the last member called `name`, else the last one called `name`.npy.
    std::optional<std::uint64_t> member_of(const std::string& name) const;
    std::string array_names() const;

    std::string path_;
    std::uint64_t bytes_ = 0;
    ZipArchive archive_;
};

}  // namespace fedhive::clients
