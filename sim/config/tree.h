// A YAML text as a tree that remembers where every value was written. Stricter than YAML: duplicate keys, anchors, tags and several
// documents are refused here, so that whoever reads the tree has only values to check. Private to sim/config.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fedhive::sim {

struct Node {
    enum class Kind { Null, Plain, Quoted, List, Map };

    Kind kind = Kind::Null;
    std::string key;             // where the parent is a map
    std::string text;            // Plain, Quoted
    std::string origin;          // "configs/mnist.yaml", or "--set training.batch_size=32"
    int line = 0;                // of the key where there is one, from 1; 0: given by --set
    bool grafted = false;        // put over what the file says, by --set or by a sweep
    std::vector<Node> children;  // List, Map

    bool from_override() const { return line == 0; }
    std::string where() const { return from_override() ? origin : origin + ":" + std::to_string(line); }
    /// `--set key=null` takes a key out of the file, and so does a null in a sweep.
    bool dropped() const { return grafted && kind == Kind::Null; }
    const Node* find(const std::string& child_key) const;
};

inline constexpr const char* kShortestConfig = "the shortest config has data.format and model.name";

/// The file's tree; its root is a Map. Throws ConfigError: missing, unreadable, a folder, empty (`shortest` says what to write), not YAML,
/// duplicate key.
Node read_tree(const std::filesystem::path& file, const std::string& shortest = kShortestConfig);

/// The same of a text; `origin` stands for the file's name in messages.
Node parse_tree(const std::string& text, const std::string& origin, const std::string& shortest = kShortestConfig);

/// Puts `value`, which keeps its origin and line, where `path` ("training.batch_size") leads, in place of what stood there; sections that
/// are not there are made. Throws ConfigError: a key on the way has a value.
void graft(Node& root, const std::string& path, Node value);

/// Puts "training.batch_size=32" into the tree, in place of what stood there. The value is YAML. Throws ConfigError.
void apply_override(Node& root, const std::string& assignment);

}  // namespace fedhive::sim
