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
    std::vector<Node> children;  // List, Map

    bool from_override() const { return line == 0; }
    std::string where() const { return from_override() ? origin : origin + ":" + std::to_string(line); }
    /// `--set key=null` takes a key out of the file.
    bool dropped() const { return from_override() && kind == Kind::Null; }
    const Node* find(const std::string& child_key) const;
};

/// The file's tree; its root is a Map. Throws ConfigError: missing, unreadable, a folder, empty, not YAML, duplicate key.
Node read_tree(const std::filesystem::path& file);

/// The same of a text; `origin` stands for the file's name in messages.
Node parse_tree(const std::string& text, const std::string& origin);

/// Puts "training.batch_size=32" into the tree, in place of what stood there. The value is YAML. Throws ConfigError.
void apply_override(Node& root, const std::string& assignment);

/// The known word nearest to `typed` (letters added, left out, replaced or swapped with a neighbour; case does not count), else one that
/// contains it or lies in it; empty when none is near.
std::string nearest_word(const std::string& typed, const std::vector<std::string>& words);

}  // namespace fedhive::sim
