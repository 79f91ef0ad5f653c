#include "clients/data/formats/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace fedhive::clients {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMostHeader = 1 << 16;  // NumPy itself reads no more than 10,000 bytes
constexpr std::size_t kMostDimensions = 64;   // NumPy's

/// What follows "'key':", without blanks; empty where there is no such key.
std::string_view after(std::string_view text, std::string_view key) {
    const std::size_t at = text.find(key);
    if (at == std::string_view::npos) return {};
    text.remove_prefix(at + key.size());
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    return text;
}

std::string dtype_of(std::string_view text) {
    if (text.starts_with('[')) return "[...]";
    if (!text.starts_with('\'')) return "";
    text.remove_prefix(1);
    return std::string(text.substr(0, text.find('\'')));
}

/// "(60000, 28, 28)", "(5,)", "()".
std::optional<std::vector<std::uint64_t>> shape_of(std::string_view text) {
    if (!text.starts_with('(')) return {};
    text.remove_prefix(1);
    std::vector<std::uint64_t> shape;
    while (shape.size() <= kMostDimensions) {
        text.remove_prefix(std::min(text.find_first_not_of(" ,"), text.size()));
        if (text.starts_with(')')) return shape;
        std::uint64_t side = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), side);
        if (error != std::errc()) return {};
        shape.push_back(side);
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    }
    return {};
}

}  // namespace

std::size_t NpyHeader::item_bytes() const {
    std::size_t bytes_each = 0;
    if (dtype.size() < 3) return 0;
    const auto [end, error] = std::from_chars(dtype.data() + 2, dtype.data() + dtype.size(), bytes_each);
    return error == std::errc() && end == dtype.data() + dtype.size() && bytes_each <= 16 ? bytes_each : 0;
}

std::optional<std::uint64_t> NpyHeader::data_bytes() const {
    std::uint64_t product = item_bytes();
    for (const std::uint64_t side : shape)
        if (__builtin_mul_overflow(product, side, &product)) return {};
    return product;
}

std::string NpyHeader::shape_text() const {
    return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

std::optional<NpyHeader> read_npy_header(const std::function<std::size_t(std::span<char>)>& read) {
    std::array<char, 8> begin{};
    if (read(begin) != begin.size() || std::string_view(begin.data(), kMagic.size()) != kMagic) return {};
    const std::size_t length_bytes = begin[6] == 1 ? 2 : 4;  // version 1 counts in two bytes
    std::array<char, 4> count{};
    if (read(std::span(count).first(length_bytes)) != length_bytes) return {};
    std::size_t length = 0;
    for (std::size_t i = 0; i < length_bytes; ++i) length |= std::size_t{static_cast<std::uint8_t>(count.at(i))} << (8 * i);
    if (length > kMostHeader) return {};
    std::string text(length, '\0');
    if (read(text) != length) return {};
    const auto shape = shape_of(after(text, "'shape':"));
    const std::string_view order = after(text, "'fortran_order':");
    const std::string dtype = dtype_of(after(text, "'descr':"));
    if (!shape || dtype.empty() || !(order.starts_with("True") || order.starts_with("False"))) return {};
    return NpyHeader{dtype, order.starts_with("True"), *shape, begin.size() + length_bytes + length};
}

}  // namespace fedhive::clients
