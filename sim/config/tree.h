// A YAML text as a tree that knows the line of every value. Stricter than YAML: refuses duplicate keys, anchors, tags and
// several documents, so that readers of the tree only check values. Private to sim/config.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fedhive::sim {

struct YamlNode {
    enum class Kind { Null, Plain, Quoted, List, Map };

    Kind kind = Kind::Null;
    std::string key;                 // if the parent is a map
    std::string text;                // Plain, Quoted
    std::string origin;              // "configs/mnist.yaml", or "--set training.batch_size=32"
    int line = 0;                    // of the key if there is one, from 1; 0: given by --set
    bool grafted = false;            // replaced the file's value, by --set or by a sweep
    std::string before;              // if grafted: the text of the file's value; empty if there was none
    std::vector<YamlNode> children;  // List, Map

    bool from_override() const { return line == 0; }
    std::string where() const { return from_override() ? origin : origin + ":" + std::to_string(line); }
    /// Whether the value is a null given by --set or a sweep, so that the key counts as absent.
    bool dropped() const { return grafted && kind == Kind::Null; }
    const YamlNode* find(const std::string& child_key) const;
};

inline constexpr const char* kShortestConfig = "the shortest config has data.format and model.name";

/// The file's tree; its root is a Map. Throws ConfigError for a file that is missing, unreadable, a folder, empty (the message ends with
/// `shortest`) or no YAML, and for a key that is written twice.
YamlNode read_tree(const std::filesystem::path& file, const std::string& shortest = kShortestConfig);

/// The tree of a text; messages name `origin` instead of a file. Throws as read_tree().
YamlNode parse_tree(const std::string& text, const std::string& origin, const std::string& shortest = kShortestConfig);

/// Puts `value`, which keeps its origin and line, at `path` ("training.batch_size"), in place of the old value; creates missing
/// sections. Throws ConfigError if a key on the way has a value.
void graft(YamlNode& root, const std::string& path, YamlNode value);

/// Applies "training.batch_size=32" to the tree; replaces the old value. The value is YAML. Throws ConfigError.
void apply_override(YamlNode& root, const std::string& assignment);

}  // namespace fedhive::sim
