// One scalar of a config: what kind of text it is, and how a message shows it. Private to sim/config.
#pragma once

#include "sim/config/tree.h"

#include <string>

namespace fedhive::sim {

/// A text, in quotes or not: JSON, which is YAML, has all of its words in quotes.
bool is_word(const Node& node);

/// At most 60 characters, none of which a terminal obeys.
std::string shortened(std::string text);

/// The node in a message: "'fast'", "a list", "nothing".
std::string found(const Node& node);

/// Digits and a sign; no zero in front, which is octal to some readers.
bool is_integer(const std::string& text);

struct Number {
    bool valid = false;  // it is a number at all
    double value = 0.0;  // infinite or NaN where it does not fit
};

Number parse_number(const std::string& text);

/// Whether the client's and the server's arithmetic, in f32, can have the value.
bool fits_float(double value);

}  // namespace fedhive::sim
