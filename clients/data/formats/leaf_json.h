// Reader of LEAF's JSON files: users with examples of numbers or characters. nlohmann/json parses them token by token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace fedhive::clients {

/// Kind of the examples; Unknown before the first.
enum class LeafKind { Unknown, Numbers, Characters };

struct LeafUser {
    std::string name;
    std::size_t num_examples = 0;
    std::size_t file = 0;  // index in LeafPart::files
};

/// One part (training or test): the users of all its files, concatenated.
struct LeafPart {
    std::vector<std::filesystem::path> files;
    LeafKind kind = LeafKind::Unknown;
    std::size_t width = 0;             // numbers, or bytes of text, per example
    std::vector<std::uint8_t> values;  // the bytes of [n, width], f32 or characters
    std::vector<std::int32_t> labels;  // [n]: classes, or the byte after each text
    std::vector<LeafUser> users;       // in the order of their examples
};

/// Reads a file, or all *.json of a folder in the order of their names.
///
/// Form     an object with user_data, {USER: {x: [n lists of numbers, or n strings], y: [n classes, or n characters]}};
///          optional users and num_samples must agree with it. Other keys (hierarchies) are skipped.
///
/// Throws   ConfigError naming the file and the byte, or the user and the example: no file, not JSON, truncated, another form,
///          examples of mixed kinds or lengths, numbers beyond f32, labels that are not classes, counts that differ, a repeated
///          user, more than memory holds.
/// Memory   one copy of the values, two while it grows; per file a window of 256 KiB and its longest string.
LeafPart read_leaf_part(const std::filesystem::path& place);

}  // namespace fedhive::clients
