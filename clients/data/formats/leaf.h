// LEAF's data (Caldas et al. 2018, arXiv:1812.01097): users with their own examples, in JSON. A user is an owner.
#pragma once

#include "clients/data/data_format.h"
#include "clients/data/formats/characters.h"

#include <filesystem>
#include <optional>

namespace fedhive::clients {

struct LeafFiles {
    std::filesystem::path train;  // a folder of files *.json, or one file
    std::filesystem::path test;
    std::optional<ExampleShape> shape{};  // of numbers; none: {numbers, 1, 1}
    std::int64_t num_classes = 0;         // of numbers; 0: 1 + the largest training label
    Unseen unseen = Unseen::Refuse;       // of texts
};

/// Numbers become f32. Characters become tokens, numbered as the text format does: the bytes that training shows, in their order; an
/// example is {length, 1, 1, vocabulary}, its label the character behind it.
///
/// Owners are the users with a training example, numbered in the order of their names, byte by byte, as LEAF sorts them. Users of the training
/// part without one are counted (Dataset::owners_left_out). Those of the test part alone are tested on like all others.
///
/// Throws   ConfigError: what read_leaf_part does; parts of different kinds or lengths; labels outside the classes; a character in tests alone, where
///          `unseen` does not count it; a shape of other values.
/// Memory   that of read_leaf_part, for both parts.
Dataset read_leaf(const LeafFiles& files);

}  // namespace fedhive::clients
