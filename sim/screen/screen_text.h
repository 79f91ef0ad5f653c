// Text as a terminal shows it: how many columns it takes, cut to fit, made harmless, coloured.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fedhive::sim {

enum class Tone { Plain, Good, Bad, Dim };

/// `text` as it is, or in a colour (SGR) where `colour` is true.
std::string paint(Tone tone, const std::string& text, bool colour);

/// Columns of a UTF-8 text on a terminal: East Asian letters and emoji take two, combining marks and colours none, a byte that is no UTF-8
/// one.
std::size_t columns(std::string_view text);

/// At most `width` columns, with "…" for what is left out: at the end, or, of a text without colours, in its middle.
std::string cut(std::string_view text, std::size_t width);
std::string cut_middle(std::string_view text, std::size_t width);

/// Exactly `width` columns: cut (in the middle), or filled up with blanks behind, or before.
std::string left(std::string_view text, std::size_t width);
std::string right(std::string_view text, std::size_t width);

/// The lines of `text`, none wider than `width` unless one word is: longer ones go on below, at a space, under the text that follows their
/// label ("run         mnist · fedavg · …"), else under their own beginning.
std::string wrapped(std::string_view text, std::size_t width);

/// What somebody else wrote, on one line: control characters, which could move the cursor, are blanks; bytes that are no UTF-8 are "?".
std::string printable(std::string_view text);

/// For messages: the same text with what a terminal would obey written out (`\x1b`, `\u202e`): control characters but for line ends, what
/// turns the direction of writing, and bytes that are not UTF-8.
std::string escaped(std::string_view text);

/// For screens: as escaped(), but the colours of paint() stay.
std::string escaped_but_colours(std::string_view text);

/// "████░░░░"
std::string bar(double fraction, std::size_t width);

/// "04:12", "1:04:12"
std::string clock_time(double seconds);

}  // namespace fedhive::sim
