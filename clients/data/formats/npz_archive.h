// NumPy's .npz: a zip archive with one array a member. libzip reads the zip; nothing is allocated that the file cannot hold.
#pragma once

#include "aggregation/base/input_file.h"
#include "clients/data/formats/npy.h"
#include "clients/data/zip_handles.h"

#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace fedhive::clients {

/// One array of an archive, which must outlive it, read from its first value to its last.
class NpzArray {
public:
    const NpyHeader& header() const { return header_; }
    const std::string& name() const { return name_; }

    /// The next bytes, as many as asked for; Throws ConfigError where there are fewer, or these are damaged.
    void read(std::span<char> to);

    /// That nothing comes behind the last value, and that the checksum is right.
    void expect_end();

    /// "FILE: ARRAY: what; mend it: `line`". `line` is Python.
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
    /// Throws ConfigError: missing, no zip archive, truncated.
    explicit NpzArchive(const std::filesystem::path& file);

    bool has(const std::string& name) const { return member_of(name).has_value(); }

    /// Checked, before a value is read: C order, a number type, no more bytes than the file can hold, as many as the head promises, and no
    /// more than there is memory for. Throws ConfigError, also where there is no array of that name, or it is encrypted.
    NpzArray open(const std::string& name) const;

private:
    /// As NumPy looks for an array: the last member of that name, else the last one of that name and .npy.
    std::optional<std::uint64_t> member_of(const std::string& name) const;
    std::string array_names() const;

    std::string path_;
    std::uint64_t bytes_ = 0;
    ZipArchive archive_;
};

}  // namespace fedhive::clients
