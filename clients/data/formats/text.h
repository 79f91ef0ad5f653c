// Plain text, a character to be told from those before it: windows of tokens, as in LEAF's Shakespeare (Caldas et al. 2018, arXiv:1812.01097).
#pragma once

#include "clients/data/data_format.h"
#include "clients/data/formats/characters.h"

#include <cstddef>
#include <filesystem>

namespace fedhive::clients {

struct TextFile {
    std::filesystem::path file;
    std::size_t sequence = 80;  // characters of a window
    std::size_t step = 1;       // from the beginning of a window to that of the next
    double test_share = 0.2;    // of each owner's text, its end
    std::size_t block = 0;      // characters of each owner; 0: owners are speakers
    bool every = false;         // labels are the characters behind each position, not behind the last one alone
    Unseen unseen = Unseen::Refuse;
};

/// A character is a byte: UTF-8's others are several. Line ends are \n, also where the file has \r\n; a byte-order mark is nothing. Tokens are
/// the bytes of all owners' texts that are trained on, in their order (characters.h). An example is `sequence` characters of an owner's text, {sequence, 1, 1, vocabulary}, its
/// label the character behind them, or, `every`, at each position the one behind it: width `sequence`. The last floor(share x length)
/// characters of each owner are the test part; windows lie in one part.
///
/// Speakers: a line that begins the file or follows an empty one and ends in ':' names who speaks the lines after it, up to the next one. A
/// speaker's lines are one text, names and empty lines left out. Owners are numbered as they first speak. Who has no window to train on is left
/// out, with the test part, and counted (Dataset::owners_left_out).
///
/// Throws   ConfigError naming the file, where it can the line, what is wanted and what to do: no file, or more than 256 MB of it; no text; a
///          line that nobody speaks; a character in tests alone, where `unseen` does not count it; nobody with a window, or none to test on; more windows than memory or 32 bits hold.
/// Memory   one copy of the text, and a byte for each character of each window. Windows are counted before any is made.
Dataset read_text(const TextFile& text);

}  // namespace fedhive::clients
