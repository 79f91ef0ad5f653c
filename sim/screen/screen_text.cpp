#include "sim/screen/screen_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace fedhive::sim {

namespace {

/// A piece of text that is shown as a whole or not at all.
struct Glyph {
    std::string_view bytes;
    std::size_t width = 1;
    bool valid = true;  // it is UTF-8
    char32_t code = 0;  // 0: a colour
};

struct Range {
    char32_t first;
    char32_t last;
};

/// Unicode blocks of letters that are two columns wide (UAX 11: W and F), as far as names of experiments may use them.
constexpr std::array kWide{Range{0x1100, 0x115F},  Range{0x2E80, 0x303E},   Range{0x3041, 0xA4CF},   Range{0xA960, 0xA97C},
                           Range{0xAC00, 0xD7A3},  Range{0xF900, 0xFAFF},   Range{0xFE30, 0xFE6F},   Range{0xFF01, 0xFF60},
                           Range{0xFFE0, 0xFFE6},  Range{0x1F300, 0x1F64F}, Range{0x1F680, 0x1F6FF}, Range{0x1F900, 0x1F9FF},
                           Range{0x20000, 0x3FFFD}};
constexpr std::array kNone{Range{0x0300, 0x036F}, Range{0x200B, 0x200F}, Range{0x20D0, 0x20FF}, Range{0xFE00, 0xFE0F}};

/// These change the writing direction, so that a text is not what it seems (UAX 9).
constexpr std::array kTurning{Range{0x200E, 0x200F}, Range{0x202A, 0x202E}, Range{0x2066, 0x2069}};

/// The output of paint().
constexpr std::array<std::string_view, 4> kColours{"\x1b[32m", "\x1b[31m", "\x1b[2m", "\x1b[0m"};

bool within(const auto& ranges, char32_t code) {
    return std::any_of(ranges.begin(), ranges.end(), [&](const Range& one) { return one.first <= code && code <= one.last; });
}

std::size_t width_of(char32_t code) { return within(kNone, code) ? 0 : within(kWide, code) ? 2 : 1; }

/// Bytes of the character that begins with `lead`; 0 if none does.
std::size_t length_of(unsigned char lead) {
    if (lead < 0x80) return 1;
    if (lead >= 0xC2 && lead < 0xE0) return 2;
    if (lead >= 0xE0 && lead < 0xF0) return 3;
    return lead >= 0xF0 && lead < 0xF5 ? 4 : 0;
}

Glyph letter_at(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text.front());
    const std::size_t length = length_of(lead);
    if (length == 1) return {text.substr(0, 1), 1, true, lead};
    if (length == 0 || length > text.size()) return {text.substr(0, 1), 1, false, lead};
    char32_t code = lead & (0xFFU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if ((byte & 0xC0U) != 0x80) return {text.substr(0, 1), 1, false, lead};
        code = code << 6 | (byte & 0x3FU);
    }
    const std::array<char32_t, 5> smallest{0, 0, 0x80, 0x800, 0x10000};
    const bool valid = code >= smallest[length] && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
    return valid ? Glyph{text.substr(0, length), width_of(code), true, code} : Glyph{text.substr(0, 1), 1, false, lead};
}

/// The next piece. Knows no escape sequences but colours, since no others are put into lines.
Glyph glyph_at(std::string_view text) {
    if (text.starts_with("\x1b[")) {
        const std::size_t end = text.find('m');
        if (end != std::string_view::npos) return {text.substr(0, end + 1), 0, true, 0};
    }
    return letter_at(text);
}

std::vector<Glyph> glyphs(std::string_view text, Glyph (*next)(std::string_view)) {
    std::vector<Glyph> all;
    while (!text.empty()) {
        all.push_back(next(text));
        text.remove_prefix(all.back().bytes.size());
    }
    return all;
}

/// The column at which a line that is too long is continued.
std::size_t hanging_column(std::string_view line, std::size_t width) {
    const std::size_t start = std::min(line.find_first_not_of(' '), line.size());
    const std::size_t gap = line.find("  ", start);
    const std::size_t text = gap == std::string_view::npos ? gap : line.find_first_not_of(' ', gap);
    const std::size_t column = text == std::string_view::npos ? start : columns(line.substr(0, text));
    if (column <= width * 2 / 3) return column;
    return start <= width / 2 ? start : 0;
}

std::string wrapped_line(std::string_view line, std::size_t width) {
    if (columns(line) <= width) return std::string(line);
    const std::size_t indent = hanging_column(line, width);
    std::string text;
    std::size_t used = 0;
    while (!line.empty()) {
        const std::size_t gap = std::min(line.find_first_not_of(' '), line.size());
        const std::size_t end = std::min(line.find(' ', gap), line.size());
        const std::string_view word = line.substr(gap, end - gap);
        const bool below = used > indent && used + gap + columns(word) > width;
        if (below) text += '\n';
        text += std::string(below ? indent : gap, ' ');
        text += word;
        used = (below ? indent : used + gap) + columns(word);
        line.remove_prefix(end);
    }
    return text;
}

}  // namespace

std::string paint(Tone tone, const std::string& text, bool colour) {
    if (!colour || tone == Tone::Plain || text.empty()) return text;
    const char* code = tone == Tone::Good ? "32" : tone == Tone::Bad ? "31" : "2";
    return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::size_t columns(std::string_view text) {
    std::size_t width = 0;
    for (const Glyph& glyph : glyphs(text, glyph_at)) width += glyph.width;
    return width;
}

std::string cut(std::string_view text, std::size_t width) {
    if (columns(text) <= width) return std::string(text);
    if (width == 0) return "";
    std::string kept;
    std::size_t used = 0;
    bool coloured = false;
    for (const Glyph& glyph : glyphs(text, glyph_at)) {
        used += glyph.width;
        if (used > width - 1) break;
        coloured = coloured || glyph.code == 0;
        kept += glyph.bytes;
    }
    return kept + "…" + (coloured ? "\x1b[0m" : "");
}

std::string cut_middle(std::string_view text, std::size_t width) {
    const std::size_t whole = columns(text);
    if (whole <= width) return std::string(text);
    if (width < 3) return cut(text, width);
    const std::size_t head = width / 2;
    std::string kept;
    std::size_t used = 0;
    for (const Glyph& glyph : glyphs(text, glyph_at)) {
        if (used + glyph.width <= head) kept += glyph.bytes;
        if (used + glyph.width > head && used <= head) kept += "…";
        if (whole - used <= width - head - 1) kept += glyph.bytes;
        used += glyph.width;
    }
    return kept;
}

std::string left(std::string_view text, std::size_t width) {
    const std::string kept = cut_middle(text, width);
    return kept + std::string(width - std::min(width, columns(kept)), ' ');
}

std::string right(std::string_view text, std::size_t width) {
    const std::string kept = cut_middle(text, width);
    return std::string(width - std::min(width, columns(kept)), ' ') + kept;
}

std::string wrapped(std::string_view text, std::size_t width) {
    std::string result;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        result += (begin == 0 ? "" : "\n") + wrapped_line(text.substr(begin, end - begin), width);
        begin = end + 1;
    }
    return result;
}

std::string printable(std::string_view text) {
    std::string clean;
    for (const Glyph& glyph : glyphs(text, letter_at)) {
        const bool control = glyph.code < 0x20 || (glyph.code >= 0x7F && glyph.code < 0xA0);
        if (!glyph.valid)
            clean += '?';
        else if (control)
            clean += ' ';
        else
            clean += glyph.bytes;
    }
    return clean;
}

std::string escaped(std::string_view text) {
    std::string clean;
    for (const Glyph& glyph : glyphs(text, letter_at)) {
        const bool control = (glyph.code < 0x20 && glyph.code != '\n') || (glyph.code >= 0x7F && glyph.code < 0xA0);
        if (!glyph.valid || (control && glyph.code < 0x80))
            clean += fmt::format("\\x{:02x}", static_cast<unsigned>(glyph.code));
        else if (control || within(kTurning, glyph.code))
            clean += fmt::format("\\u{:04x}", static_cast<unsigned>(glyph.code));
        else
            clean += glyph.bytes;
    }
    return clean;
}

std::string escaped_but_colours(std::string_view text) {
    std::string clean;
    while (!text.empty()) {
        const std::size_t begin = text.find("\x1b[");
        clean += escaped(text.substr(0, begin));
        if (begin == std::string_view::npos) break;
        text.remove_prefix(begin);
        const auto* const colour =
            std::find_if(kColours.begin(), kColours.end(), [&](std::string_view known) { return text.starts_with(known); });
        clean += colour == kColours.end() ? escaped(text.substr(0, 1)) : std::string(*colour);
        text.remove_prefix(colour == kColours.end() ? 1 : colour->size());
    }
    return clean;
}

std::string bar(double fraction, std::size_t width) {
    const auto filled = static_cast<std::size_t>(std::clamp(fraction, 0.0, 1.0) * static_cast<double>(width));
    std::string text;
    for (std::size_t i = 0; i < width; ++i) text += i < filled ? "█" : "░";
    return text;
}

std::string clock_time(double seconds) {
    const std::int64_t total = std::llround(seconds);
    return total < 3600 ? fmt::format("{:02}:{:02}", total / 60, total % 60)
                        : fmt::format("{}:{:02}:{:02}", total / 3600, total / 60 % 60, total % 60);
}

}  // namespace fedhive::sim
