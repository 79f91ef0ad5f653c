// Plain text for predicting the next character: windows of tokens, as in LEAF's Shakespeare (Caldas et al. 2018,
// arXiv:1812.01097).
#pragma once

#include "clients/data/data_format.h"
#include "clients/data/formats/characters.h"

#include <cstddef>
#include <filesystem>

namespace fedhive::clients {

struct TextFile {
    std::filesystem::path file;
    std::size_t sequence = 80;  // characters of a window
    std::size_t step = 1;       // characters between the starts of successive windows
    double test_share = 0.2;    // final fraction of each owner's text
    std::size_t block = 0;      // characters per owner; 0: owners are speakers
    bool every = false;         // labels for every position, not only for the last
    Unseen unseen = Unseen::Refuse;
};

/// Cuts each owner's text into windows of `sequence` characters: examples {sequence, 1, 1, vocabulary}.
///
/// Characters   bytes, so UTF-8 characters may be several. \r\n becomes \n; a byte-order mark is dropped.
/// Tokens       the bytes of all owners' training parts, ascending (characters.h).
/// Labels       the character after the window; with `every`, the next character at each position: width `sequence`.
/// Parts        the last floor(test_share * length) characters of each owner are its test part; no window crosses the boundary.
///
/// Speakers     a line that begins the file or follows an empty one and ends in ':' names the speaker of the lines up to the
///              next such line. A speaker's lines form one text without names and empty lines. Owners are numbered in order of
///              first speech. Owners without a training window are left out with their test parts and counted
///              (Dataset::owners_left_out).
///
/// Throws   ConfigError naming the file and, if possible, the line: no file, or more than 256 MiB; no text; a line without a
///          speaker; a character that only tests have, unless `unseen` counts it; no owner with a window, or no test window;
///          more windows than memory or 32-bit indices hold.
/// Memory   one copy of the text, plus one byte per character of each window. Windows are counted before any is allocated.
Dataset read_text(const TextFile& text);

}  // namespace fedhive::clients
