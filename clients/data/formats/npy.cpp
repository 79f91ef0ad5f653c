#include "clients/data/formats/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <set>
#include <string_view>

namespace fedhive::clients {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMostHeader = 1 << 16;  // NumPy itself reads at most 10,000 bytes
constexpr std::size_t kMostDimensions = 64;   // NumPy's

/// Parser of the header's Python dictionary {descr, fortran_order, shape}: the syntax that NumPy writes.
class Head {
public:
    explicit Head(std::string_view text) : text_(text) {}

    std::optional<NpyHeader> read() {
        NpyHeader header;
        std::set<std::string> keys;
        if (!take('{')) return {};
        while (!take('}')) {
            const std::optional<std::string> key = quoted();
            if (!key || !keys.insert(*key).second || !take(':') || !read_value(*key, header)) return {};
            if (!take(',') && !next_is('}')) return {};
        }
        skip_blanks();
        return keys.size() == 3 && text_.empty() ? std::optional(header) : std::nullopt;
    }

private:
    void skip_blanks() { text_.remove_prefix(std::min(text_.find_first_not_of(" \t\n"), text_.size())); }
    bool next_is(char c) {
        skip_blanks();
        return text_.starts_with(c);
    }
    bool take(std::string_view what) {
        skip_blanks();
        if (!text_.starts_with(what)) return false;
        text_.remove_prefix(what.size());
        return true;
    }
    bool take(char c) { return take(std::string_view(&c, 1)); }

    std::optional<std::string> quoted() {
        if (!next_is('\'') && !next_is('"')) return {};
        const std::size_t end = text_.find(text_[0], 1);
        if (end == std::string_view::npos) return {};
        std::string inside(text_.substr(1, end - 1));
        text_.remove_prefix(end + 1);
        return inside;
    }

    bool read_value(const std::string& key, NpyHeader& header) {
        if (key == "descr") return read_dtype(header.dtype);
        if (key == "fortran_order") return read_order(header.fortran_order);
        return key == "shape" && read_shape(header.shape);
    }

    /// Without a byte order the machine's is assumed.
    bool read_dtype(std::string& dtype) {
        if (next_is('[')) {
            dtype = "[...]";
            return skip_list();
        }
        const std::optional<std::string> given = quoted();
        dtype = given.value_or("");
        if (dtype.starts_with('=')) dtype[0] = '<';
        if (!dtype.empty() && std::isalpha(static_cast<unsigned char>(dtype[0])) != 0) dtype.insert(0, 1, '<');
        return !dtype.empty();
    }

    /// Skips the list of a record's fields, to its closing bracket.
    bool skip_list() {
        std::size_t depth = 0;
        do {
            if (next_is('\'') || next_is('"')) {
                if (!quoted()) return false;
                continue;
            }
            if (text_.empty()) return false;
            depth += text_[0] == '[' ? 1 : 0;
            depth -= text_[0] == ']' ? 1 : 0;
            text_.remove_prefix(1);
        } while (depth > 0);
        return true;
    }

    bool read_order(bool& fortran) {
        fortran = take("True");
        return fortran || take("False");
    }

    /// "(60000, 28, 28)", "(5,)", "()"; also "(5L,)" of Python 2.
    bool read_shape(std::vector<std::uint64_t>& shape) {
        if (!take('(')) return false;
        for (bool comma = true; !take(')'); comma = take(',')) {
            std::uint64_t side = 0;
            skip_blanks();
            const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), side);
            if (!comma || error != std::errc() || (text_[0] == '0' && end != text_.data() + 1) ||
                shape.size() == kMostDimensions)
                return false;
            shape.push_back(side);
            text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
            if (text_.starts_with('L')) text_.remove_prefix(1);
            if (shape.size() == 1 && !next_is(',')) return false;  // "(5)" is a number in parentheses
        }
        return true;
    }

    std::string_view text_;  // still to be read
};

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
    if (begin[6] < 1 || begin[6] > 3 || begin[7] != 0) return {};
    const std::size_t length_bytes = begin[6] == 1 ? 2 : 4;  // version 1 has a two-byte length
    std::array<char, 4> count{};
    if (read(std::span(count).first(length_bytes)) != length_bytes) return {};
    std::size_t length = 0;
    for (std::size_t i = 0; i < length_bytes; ++i) length |= std::size_t{static_cast<std::uint8_t>(count.at(i))} << (8 * i);
    if (length > kMostHeader) return {};
    std::string text(length, '\0');
    if (read(text) != length) return {};
    std::optional<NpyHeader> header = Head(text).read();
    if (header) header->bytes = begin.size() + length_bytes + length;
    return header;
}

}  // namespace fedhive::clients
