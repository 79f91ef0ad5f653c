// Scalars of a config: their type, and their form in messages. Private to sim/config.
#pragma once

#include "sim/config/tree.h"

#include <string>

namespace fedhive::sim {

/// True for a text, quoted or not: JSON, a part of YAML, quotes all of its words.
bool is_word(const YamlNode& node);

/// At most 60 characters, without control characters.
std::string shortened(std::string text);

/// The node in a message: "'fast'", "a list", "nothing".
std::string found(const YamlNode& node);

/// Digits with an optional sign; no leading zero, which some readers take for octal.
bool is_integer(const std::string& text);

struct Number {
    bool valid = false;  // it is a number
    double value = 0.0;  // infinite or NaN if it does not fit
};

Number parse_number(const std::string& text);

/// True if the value is representable in f32, in which clients and server compute.
bool fits_float(double value);

}  // namespace fedhive::sim
