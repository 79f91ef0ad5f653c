// LEAF's JSON as it lies in files: users, each with examples of numbers or of characters. nlohmann/json reads it, a token at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace fedhive::clients {

/// What examples are made of; there are none yet.
enum class LeafKind { Unknown, Numbers, Characters };

struct LeafUser {
    std::string name;
    std::size_t num_examples = 0;
    std::size_t file = 0;  // which of the part's
};

/// One part (training or test), the users of all its files one after the other.
struct LeafPart {
    std::vector<std::filesystem::path> files;
    LeafKind kind = LeafKind::Unknown;
    std::size_t width = 0;             // numbers, or bytes of text, of an example
    std::vector<std::uint8_t> values;  // the bytes of [n, width], f32 or characters
    std::vector<std::int32_t> labels;  // [n]: classes, or the bytes behind the characters
    std::vector<LeafUser> users;       // in the order of their examples
};

/// A file, or all files *.json of a folder, in the order of their names: objects with user_data, {USER: {x: [n lists of numbers, or n strings],
/// y: [n classes, or n characters]}}, and, where they are there, users and num_samples, which must tell the same. What else there is
/// (hierarchies) is not looked at.
///
/// Throws   ConfigError naming the file and the byte, or the user and the example: no file; no JSON, cut off; another form; examples of several
///          kinds or lengths; numbers that no f32 is, labels that are no classes; counts that differ; a user twice; more than memory holds.
/// Memory   one copy of the values, twice while it grows; of a file a window of 256 KiB, and the longest string in it.
LeafPart read_leaf_part(const std::filesystem::path& place);

}  // namespace fedhive::clients
