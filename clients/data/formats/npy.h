// Header of a NumPy array file: type and shape of its data. Source: numpy.lib.format, "NPY format", versions 1.0 to 3.0.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fedhive::clients {

struct NpyHeader {
    std::string dtype;  // as written, with byte order: "<f4"; "[...]" for a record
    bool fortran_order = false;
    std::vector<std::uint64_t> shape;
    std::size_t bytes = 0;  // of the header

    char kind() const { return dtype.size() < 2 ? '?' : dtype[1]; }  // f: float, i and u: integers, b: bool, O: objects, …
    /// Bytes of one value; 0 unless the dtype gives at most 16.
    std::size_t item_bytes() const;
    /// Bytes of all values; nothing on overflow.
    std::optional<std::uint64_t> data_bytes() const;
    /// "(60000, 28, 28)"
    std::string shape_text() const;
};

/// Reads a header; nothing if it is invalid. `read` fills its span and returns the bytes read, fewer only at the end.
std::optional<NpyHeader> read_npy_header(const std::function<std::size_t(std::span<char>)>& read);

}  // namespace fedhive::clients
