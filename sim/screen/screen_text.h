// Text on a terminal: width in columns, cutting, wrapping, escaping, colours.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fedhive::sim {

enum class Tone { Plain, Good, Bad, Dim };

/// `text`, in a colour (SGR) if `colour` is true.
std::string paint(Tone tone, const std::string& text, bool colour);

/// Width of a UTF-8 text in terminal columns: 2 for East Asian letters and emoji, 0 for combining marks and colours, 1 for a
/// byte that is not UTF-8.
std::size_t columns(std::string_view text);

/// At most `width` columns, with "…" for what is cut: at the end, or, for a text without colours, in the middle.
std::string cut(std::string_view text, std::size_t width);
std::string cut_middle(std::string_view text, std::size_t width);

/// Exactly `width` columns: cut in the middle, or padded with blanks on the right, or on the left.
std::string left(std::string_view text, std::size_t width);
std::string right(std::string_view text, std::size_t width);

/// The text wrapped at spaces to `width` columns; only a longer word exceeds them. Continuation lines are indented to the text
/// after the label ("run         mnist · fedavg · …"), or else to the line's own beginning.
std::string wrapped(std::string_view text, std::size_t width);

/// Foreign text on one line: control characters, which could move the cursor, become blanks; bytes that are not UTF-8 become
/// "?".
std::string printable(std::string_view text);

/// For messages: the text with everything a terminal would obey written out (`\x1b`, `\u202e`): control characters except line
/// ends, characters that change the writing direction, and bytes that are not UTF-8.
std::string escaped(std::string_view text);

/// For screens: as escaped(), but keeps the colours of paint().
std::string escaped_but_colours(std::string_view text);

/// "████░░░░"
std::string bar(double fraction, std::size_t width);

/// "04:12", "1:04:12"
std::string clock_time(double seconds);

}  // namespace fedhive::sim
