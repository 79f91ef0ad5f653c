// The head of a NumPy array file: what lies behind it, and how. Source: numpy.lib.format, "NPY format", versions 1.0 to 3.0.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fedhive::clients {

struct NpyHeader {
    std::string dtype;  // as it is written: "<f4", with its order; "[...]" of a record
    bool fortran_order = false;
    std::vector<std::uint64_t> shape;
    std::size_t bytes = 0;  // of the head

    char kind() const { return dtype.size() < 2 ? '?' : dtype[1]; }  // f: float, i and u: integers, b: bool, O: objects, …
    /// Of one value; 0 where that is not a small number.
    std::size_t item_bytes() const;
    /// Of all values; nothing where that is more than can be counted.
    std::optional<std::uint64_t> data_bytes() const;
    /// "(60000, 28, 28)"
    std::string shape_text() const;
};

/// `read` fills what it is given and says how much of it, less only at the end. Nothing where it is no such head.
std::optional<NpyHeader> read_npy_header(const std::function<std::size_t(std::span<char>)>& read);

}  // namespace fedhive::clients
