#include "sim/config/layer_fields.h"

#include "aggregation/base/error.h"
#include "clients/models/layer_kind.h"
#include "sim/config/reader.h"
#include "sim/config/scalars.h"
#include "sim/config/suggest.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace fedhive::sim {

namespace {

using clients::LayerList;
using clients::LayerSpec;

class LayerReader {
public:
    LayerReader(LayerList& layers, const LayerReading& reading) : layers_(layers), reading_(reading) {}

    void read_list(const YamlNode& list, const std::string& path) {
        if (list.kind != YamlNode::Kind::List)
            return reading_.report(
                list, path, fmt::format("expected a list of layers, found {}; for example: [flatten, linear]", found(list)));
        if (list.children.empty()) return reading_.report(list, path, "is empty; for example: [flatten, linear]");
        for (std::size_t i = 0; i < list.children.size(); ++i) read_layer(list.children[i], fmt::format("{}[{}]", path, i));
    }

private:
    void read_layer(const YamlNode& node, const std::string& path) {
        const bool word = is_word(node);
        if (is_residual_with_shortcut(node)) return read_with_shortcut(node, path);
        if (!word && (node.kind != YamlNode::Kind::Map || node.children.size() != 1))
            return reading_.report(
                node, path,
                fmt::format(
                    "expected one layer, found {}; for example: relu, {{linear: 50}} or {{conv2d: {{out: 10, kernel: 5}}}}",
                    found(node)));
        const std::string& name = word ? node.text : node.children.front().key;
        const auto& catalog = clients::layer_catalog();
        const auto kind = std::ranges::find(catalog, name, &LayerSpec::name);
        if (name == "shortcut")
            return reading_.report(node, path,
                                   "a shortcut needs a residual in the same map; write {residual: […], shortcut: […]}");
        if (kind == catalog.end()) {
            const std::string near = nearest_word(name, names_of(catalog));
            return reading_.report(node, path,
                                   fmt::format("there is no layer '{}'; known: {}{}", name, fmt::join(names_of(catalog), ", "),
                                               near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
        }
        const YamlNode* arguments = word ? nullptr : &node.children.front();
        guarded(node, path, [&] {
            if (kind->holds_layers)
                read_residual(node, arguments, path + "." + name);
            else
                layers_.add(name, read_arguments(*kind, node, arguments, path + "." + name));
        });
    }

    /// Runs `read`; reports only once that the list is full.
    template <typename Read>
    void guarded(const YamlNode& node, const std::string& path, const Read& read) {
        try {
            read();
        } catch (const ConfigError& full) {
            if (!full_) reading_.report(node, path, full.what());
            full_ = true;
        }
    }

    /// {residual: […], shortcut: […]}, in either order.
    static bool is_residual_with_shortcut(const YamlNode& node) {
        const auto has = [&](const char* key) {
            return std::ranges::find(node.children, key, &YamlNode::key) != node.children.end();
        };
        return node.kind == YamlNode::Kind::Map && node.children.size() == 2 && has("residual") && has("shortcut");
    }

    void read_with_shortcut(const YamlNode& node, const std::string& path) {
        const auto list = [&](const char* key) -> const YamlNode& {
            return *std::ranges::find(node.children, key, &YamlNode::key);
        };
        guarded(node, path, [&] {
            layers_.add("residual");
            read_list(list("residual"), path + ".residual");
            layers_.shortcut();
            read_list(list("shortcut"), path + ".shortcut");
            layers_.end();
        });
    }

    void read_residual(const YamlNode& node, const YamlNode* inner, const std::string& path) {
        if (inner == nullptr) return reading_.report(node, path, "expected its layers; for example: {residual: [relu, …]}");
        layers_.add("residual");
        read_list(*inner, path);
        layers_.end();
    }

    std::vector<float> read_arguments(const LayerSpec& kind, const YamlNode& node, const YamlNode* given,
                                      const std::string& path) {
        YamlNode map;
        map.kind = YamlNode::Kind::Map;
        map.origin = node.origin;
        map.line = node.line;
        map.grafted = node.grafted;
        const bool no_keys = given != nullptr && given->kind != YamlNode::Kind::Map;
        if (no_keys && (kind.keys.empty() || given->kind == YamlNode::Kind::List)) {
            reading_.report(*given, path,
                            kind.keys.empty()
                                ? fmt::format("takes no arguments, found {}; write {}", found(*given), kind.name)
                                : fmt::format("expected arguments, found a list; write {{{}: …}}", kind.keys.front().name));
            return {};
        }
        if (no_keys) {
            map.children.push_back(*given);
            map.children.back().key = kind.keys.front().name;
            given = nullptr;
        }
        std::vector<float> arguments;
        reading_.section(given != nullptr ? *given : map, path,
                         [&](Visitor& visitor) { arguments = show_keys(visitor, kind); });
        return arguments;
    }

    static std::vector<float> show_keys(Visitor& visitor, const LayerSpec& kind) {
        std::vector<float> arguments;
        for (const KeySpec& key : kind.keys) {
            KeyValue value = key.default_value;
            visitor.field({.name = key.name,
                           .target = std::visit([](auto& typed) { return Target(&typed); }, value),
                           .range = key.range,
                           .required = key.required,
                           .doc = key.doc});
            arguments.push_back(clients::argument_of(value));
        }
        return arguments;
    }

    LayerList& layers_;
    const LayerReading& reading_;
    bool full_ = false;
};

/// "relu", "{max_pool: 2}", "{conv2d: {out: 10, kernel: 5, …}}"; left out are integers that the user left out, and flags with their
/// default where all other arguments may be left out.
std::string text_of_entry(const clients::ListedLayer& layer, const LayerSpec& kind) {
    std::vector<std::string> values, texts;  // texts: with their keys
    const auto is_optional = [](const KeySpec& key) {
        return std::holds_alternative<std::optional<std::int64_t>>(key.default_value);
    };
    const auto is_flag = [](const KeySpec& key) { return std::holds_alternative<bool>(key.default_value); };
    const bool may_leave_flags_out =
        std::ranges::all_of(kind.keys, [&](const KeySpec& key) { return is_optional(key) || is_flag(key); });
    for (std::size_t i = 0; i < kind.keys.size(); ++i) {
        const KeySpec& key = kind.keys[i];
        const bool may_be_left_out = is_optional(key) || (may_leave_flags_out && is_flag(key));
        if (may_be_left_out && layer.arguments[i] == clients::default_argument(key)) continue;
        const std::string value =
            is_flag(key) ? fmt::format("{}", layer.arguments[i] > 0.0F) : fmt::format("{}", layer.arguments[i]);
        values.push_back(value);
        texts.push_back(fmt::format("{}: {}", key.name, value));
    }
    if (texts.empty()) return kind.name;
    if (texts.size() == 1 && texts.front().starts_with(kind.keys.front().name + ":"))
        return fmt::format("{{{}: {}}}", kind.name, values.front());
    return fmt::format("{{{}: {{{}}}}}", kind.name, fmt::join(texts, ", "));
}

}  // namespace

void read_layers(const YamlNode& list, const std::string& path, LayerList& layers, const LayerReading& reading) {
    layers.clear();
    LayerReader(layers, reading).read_list(list, path);
}

std::string text_of(const LayerList& layers) {
    if (layers.empty()) return "";
    std::string text = "[";
    for (const clients::ListedLayer& layer : layers.entries()) {
        if (layer.kind == LayerList::kEnd) {
            text += "]}";
            continue;
        }
        if (layer.kind == LayerList::kShortcut) {
            text += "], shortcut: [";
            continue;
        }
        const LayerSpec& kind = clients::layer_catalog().at(layer.kind);
        if (text.back() != '[') text += ", ";
        text += kind.holds_layers ? fmt::format("{{{}: [", kind.name) : text_of_entry(layer, kind);
    }
    return text + "]";
}

std::string layers_markdown() {
    std::string text =
        "\n### model: layers\n\nWrite a layer as a word, `relu`; with its first argument, `{linear: 50}`; or with several, "
        "`{conv2d: {out: 10, kernel: 5}}`. [docs/models.md](../docs/models.md) has examples.\n\n| Layer, its arguments | "
        "Values | Default | Meaning |\n|---|---|---|---|\n";
    for (const LayerSpec& kind : clients::layer_catalog()) {
        text += fmt::format("| `{}` | {} | | {} |\n", kind.name, kind.holds_layers ? "list of layers" : "", kind.summary);
        if (kind.holds_layers)
            text += fmt::format(
                "| `{} … shortcut` | list of layers | the input, unchanged | The second key beside `{}`: the layers of the "
                "shortcut, such as a 1 × 1 convolution that changes the shape. |\n",
                kind.name, kind.name);
        for (const KeySpec& key : kind.keys) {
            std::string values = std::holds_alternative<double>(key.default_value) ? "number, " : "integer, ";
            values += key.range.text();
            std::string standard = key.required ? "**required**" : key.default_note;
            if (standard.empty()) standard = fmt::format("`{}`", clients::default_argument(key));
            if (const auto* flag = std::get_if<bool>(&key.default_value)) {
                values = "`true`, `false`";
                standard = fmt::format("`{}`", *flag);
            }
            text += fmt::format("| `{}.{}` | {} | {} | {} |\n", kind.name, key.name, values, standard, key.doc);
        }
    }
    return text;
}

}  // namespace fedhive::sim
