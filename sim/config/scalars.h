// Scalars of a config: their type, and their form in messages. Private to sim/config.
#pragma once

#include "sim/config/tree.h"

#include <string>

namespace fedhive::sim {

/// Whether the node is a word. It may be quoted, since JSON, which is YAML, too, quotes all words.
bool is_word(const YamlNode& node);

/// At most 60 characters, without control characters.
std::string shortened(std::string text);

/// The text of a message for the node: "'fast'", "a list", "nothing".
std::string found(const YamlNode& node);

/// Whether the text is digits with an optional sign; no leading zero, which some readers take for octal.
bool is_integer(const std::string& text);

struct Number {
    bool valid = false;  // the text is a number
    double value = 0.0;  // infinite or NaN if it does not fit
};

Number parse_number(const std::string& text);

/// True if the value is representable in f32, in which clients and server compute.
bool fits_float(double value);

}  // namespace fedhive::sim
