// LEAF's data (Caldas et al. 2018, arXiv:1812.01097): users with their own examples, in JSON. Each user is an owner.
#pragma once

#include "clients/data/data_format.h"
#include "clients/data/formats/characters.h"

#include <filesystem>
#include <optional>

namespace fedhive::clients {

struct LeafFiles {
    std::filesystem::path train;  // a folder of files *.json, or one file
    std::filesystem::path test;
    std::optional<ExampleShape> shape{};  // numeric examples only; none: {numbers, 1, 1}
    std::int64_t num_classes = 0;         // numeric examples only; 0: 1 + the largest training label
    Unseen unseen = Unseen::Refuse;       // texts only
};

/// Reads both parts; numbers become f32, characters become tokens.
///
/// Tokens   the bytes of training text in ascending order, as in the text format. An example is {length, 1, 1, vocabulary}; its
///          label is the character after it.
/// Owners   users with a training example, numbered by name, bytewise, as LEAF sorts them. Training users without examples are
///          counted (Dataset::owners_left_out). Test examples of users without training examples are kept.
///
/// Throws   ConfigError: as read_leaf_part; parts of different kinds or lengths; labels outside the classes; a character that
///          only tests have, unless `unseen` counts it; a shape with another number of values.
/// Memory   that of read_leaf_part, for both parts.
Dataset read_leaf(const LeafFiles& files);

}  // namespace fedhive::clients
