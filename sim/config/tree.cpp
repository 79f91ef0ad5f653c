#include "sim/config/tree.h"

#include "aggregation/base/error.h"
#include "aggregation/base/input_file.h"
#include "sim/config/suggest.h"
#include "sim/config/yaml_problem.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cctype>
#include <sstream>
#include <utility>

namespace fedhive::sim {

namespace {

/// Builds the tree from yaml-cpp's events: yaml-cpp's own Node silently keeps duplicate keys and forgets the lines of keys.
class TreeBuilder : public YAML::EventHandler {
public:
    /// An override's text has no lines; its place in the file's tree is `path`.
    TreeBuilder(std::string origin, bool has_lines, std::string path)
        : origin_(std::move(origin)), has_lines_(has_lines), path_(std::move(path)) {}

    YamlNode take_root() { return std::move(root_); }

    void OnDocumentStart(const YAML::Mark& mark) override {
        if (documents_++ > 0) fail(mark, "a second document starts here; a config must be one document");
    }
    void OnDocumentEnd() override {}
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse_anchor(mark); }
    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { scalar(mark, "?", anchor, YamlNode::Kind::Null, ""); }
    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& value) override {
        scalar(mark, tag, anchor, tag == "!" ? YamlNode::Kind::Quoted : YamlNode::Kind::Plain, value);
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        open(mark, tag, anchor, YamlNode::Kind::List);
    }
    void OnSequenceEnd() override { close(); }
    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
        open(mark, tag, anchor, YamlNode::Kind::Map);
    }
    void OnMapEnd() override { close(); }

private:
    /// A list or map that is still open; in a map, `key` is waiting for its value.
    struct Open {
        YamlNode node;
        bool has_key = false;
        std::string key;
        int key_line = 0;
    };

    [[noreturn]] void fail(const YAML::Mark& mark, const std::string& problem) const {
        std::string path = path_;
        for (const Open& open : open_)
            if (open.has_key) path += (path.empty() ? "" : ".") + open.key;
        throw ConfigError(place(mark).where() + ": " + (path.empty() ? "" : path + ": ") + problem);
    }

    [[noreturn]] void refuse_anchor(const YAML::Mark& mark) const {
        fail(mark, "YAML anchors and aliases (&, *) are not supported; write the value out");
    }

    YamlNode place(const YAML::Mark& mark) const {
        YamlNode node;
        node.origin = origin_;
        node.line = has_lines_ ? mark.line + 1 : 0;
        return node;
    }

    bool expects_key() const {
        return !open_.empty() && open_.back().node.kind == YamlNode::Kind::Map && !open_.back().has_key;
    }

    void check(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) const {
        if (anchor != YAML::NullAnchor) refuse_anchor(mark);
        if (!tag.empty() && tag != "?" && tag != "!") fail(mark, "YAML tags (" + tag + ") are not supported; remove the tag");
    }

    void scalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YamlNode::Kind kind,
                const std::string& value) {
        check(mark, tag, anchor);
        if (expects_key()) return start_key(mark, kind, value);
        YamlNode node = place(mark);
        node.kind = kind;
        node.text = value;
        add(std::move(node));
    }

    void start_key(const YAML::Mark& mark, YamlNode::Kind kind, const std::string& value) {
        if (kind == YamlNode::Kind::Null || value.empty()) fail(mark, "a key is missing here; write `key: value`");
        Open& map = open_.back();
        map.has_key = true;
        map.key = value;
        map.key_line = place(mark).line;
        if (const YamlNode* first = map.node.find(value))
            fail(mark, has_lines_ ? fmt::format("is given twice, first on line {}; keep one", first->line)
                                  : "is given twice; keep one");
    }

    void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YamlNode::Kind kind) {
        check(mark, tag, anchor);
        // yaml-cpp also reports "[1" like this.
        if (expects_key()) fail(mark, "a list or map cannot be a key, or its bracket is not closed; write `key: value`");
        Open opened;
        opened.node = place(mark);
        opened.node.kind = kind;
        open_.push_back(std::move(opened));
    }

    void close() {
        YamlNode node = std::move(open_.back().node);
        open_.pop_back();
        add(std::move(node));
    }

    void add(YamlNode node) {
        if (open_.empty()) {
            root_ = std::move(node);
            return;
        }
        Open& parent = open_.back();
        if (parent.has_key) {
            node.key = parent.key;
            node.line = parent.key_line;
            parent.has_key = false;
        }
        parent.node.children.push_back(std::move(node));
    }

    std::string origin_;
    bool has_lines_;
    std::string path_;
    int documents_ = 0;
    YamlNode root_;
    std::vector<Open> open_;
};

YamlNode parse(const std::string& text, const std::string& origin, bool has_lines, const std::string& path) {
    TreeBuilder builder(origin, has_lines, path);
    try {
        // After a last line break yaml-cpp takes the end of the text for the end of an open quote.
        std::istringstream stream(text.substr(0, text.find_last_not_of("\r\n") + 1));
        YAML::Parser parser(stream);
        while (parser.HandleNextDocument(builder)) {
        }
    } catch (const YAML::Exception& error) {
        const std::string problem = (path.empty() ? "" : path + ": ") + syntax_problem(error.msg, text, has_lines);
        if (!has_lines || error.mark.is_null()) throw ConfigError(fmt::format("{}: {}", origin, problem));
        const TextPlace place{error.mark.line + 1, error.mark.column + 1};
        throw ConfigError(fmt::format("{}:{}:{}: {}\n{}", origin, place.line, place.column, problem, excerpt(text, place)));
    }
    return builder.take_root();
}

/// yaml-cpp's own message does not give the remedy.
void refuse_tabs(const std::string& text, const std::string& origin) {
    std::istringstream lines(text);
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
        if (line.find('\t') < line.find_first_not_of(" \t"))
            throw ConfigError(fmt::format("{}:{}: a tab in the indentation; YAML needs spaces", origin, number));
    }
}

std::string read_yaml(const std::filesystem::path& file) {
    constexpr std::uint64_t kMostYaml = std::uint64_t{64} << 20;
    try {
        return read_file(file, kMostYaml);
    } catch (const FileError& error) {
        if (error.problem == FileProblem::Folder) throw ConfigError(file.string() + ": is a folder; name a YAML file");
        if (error.problem == FileProblem::Missing) throw ConfigError(file.string() + ": " + no_such_yaml(file));
        throw;
    }
}

void mark_grafted(YamlNode& node) {
    node.grafted = true;
    for (YamlNode& child : node.children) mark_grafted(child);
}

}  // namespace

const YamlNode* YamlNode::find(const std::string& child_key) const {
    const auto found =
        std::find_if(children.begin(), children.end(), [&](const YamlNode& child) { return child.key == child_key; });
    return kind == Kind::Map && found != children.end() ? &*found : nullptr;
}

YamlNode read_tree(const std::filesystem::path& file, const std::string& shortest) {
    return parse_tree(read_yaml(file), file.string(), shortest);
}

YamlNode parse_tree(const std::string& text, const std::string& origin, const std::string& shortest) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    const bool is_json = begin != std::string::npos && text[begin] == '{';  // tabs are blanks within braces
    if (!is_json) refuse_tabs(text, origin);
    YamlNode root = parse(text, origin, true, "");
    if (root.kind == YamlNode::Kind::Null) throw ConfigError(origin + ": is empty; " + shortest);
    if (root.kind != YamlNode::Kind::Map) throw ConfigError(root.where() + ": expected keys with values, such as `seed: 1`");
    return root;
}

void graft(YamlNode& root, const std::string& path, YamlNode value) {
    mark_grafted(value);
    YamlNode* node = &root;
    std::istringstream keys(path);
    std::string key;
    while (std::getline(keys, key, '.')) {
        if (node->kind == YamlNode::Kind::Null) node->kind = YamlNode::Kind::Map;
        if (node->kind != YamlNode::Kind::Map)
            throw ConfigError(fmt::format("{}: {}: '{}' ({}) is not a section and has no keys", value.where(), path, node->key,
                                          node->where()));
        auto child =
            std::find_if(node->children.begin(), node->children.end(), [&](const YamlNode& other) { return other.key == key; });
        if (child == node->children.end()) {
            YamlNode created;
            created.key = key;
            created.origin = value.origin;
            created.line = value.line;
            created.grafted = true;
            child = node->children.insert(node->children.end(), std::move(created));
        }
        node = &*child;
    }
    value.key = node->key;
    value.before = node->grafted ? node->before : node->text;
    *node = std::move(value);
}

void apply_override(YamlNode& root, const std::string& assignment) {
    const std::string origin = "--set " + assignment;
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0)
        throw ConfigError(origin + ": expected KEY=VALUE, such as training.batch_size=32");
    const std::string path = assignment.substr(0, equals);
    const std::string text = assignment.substr(equals + 1);
    if (text.find_first_not_of(' ') == std::string::npos)
        throw ConfigError(
            fmt::format("{}: {}: has no value after '='; write {}=null to remove the key from the file", origin, path, path));

    YamlNode value = parse(text, origin, false, path);
    value.origin = origin;  // also set for a value without a document
    graft(root, path, std::move(value));
}

}  // namespace fedhive::sim
