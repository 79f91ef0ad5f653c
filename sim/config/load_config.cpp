#include "sim/config/load_config.h"

#include "clients/data/partition.h"
#include "sim/config/fields.h"
#include "sim/config/implied.h"
#include "sim/config/load_tree.h"
#include "sim/config/privacy.h"
#include "sim/config/reader.h"
#include "sim/config/rules.h"

#include <fmt/format.h>

#include <cctype>

namespace fedhive::sim {

namespace {

class TreeSource : public ConfigSource {
public:
    explicit TreeSource(YamlNode root) : root_(std::move(root)) {}

    ConfigError error(const std::string& key_path, const std::string& problem) const override {
        // A method file that strategy.name has found is no key of the user's.
        const bool by_name = key_path == "strategy.file" && !gives("strategy", "file") && gives("strategy", "name");
        const std::string path = by_name ? "strategy.name" : key_path;
        const YamlNode* node = &root_;
        std::string rest = path;
        while (!rest.empty()) {
            const std::size_t end = rest.find_first_of(".[", 1);
            const YamlNode* child = rest[0] == '[' ? item_of(*node, rest) : node->find(rest.substr(0, end));
            if (child == nullptr || child->dropped()) break;
            node = child;
            rest = end == std::string::npos ? "" : rest.substr(rest[end] == '.' ? end + 1 : end);
        }
        // A key missing in a section that --set or a sweep replaced is reported there; any other at the file.
        const std::string where = rest.empty() || node->grafted ? node->where() : root_.origin;
        return ConfigError(fmt::format("{}: {}: {}", where, path, problem));
    }

    /// The item of "[3]…", the fourth of a list; null if it does not exist.
    static const YamlNode* item_of(const YamlNode& list, const std::string& path) {
        const auto index = static_cast<std::size_t>(std::stoul(path.substr(1)));
        return list.kind == YamlNode::Kind::List && index < list.children.size() ? &list.children[index] : nullptr;
    }

    bool gives(const std::string& section, const std::string& key) const {
        const YamlNode* parent = section.empty() ? &root_ : root_.find(section);
        const YamlNode* node = parent != nullptr ? parent->find(key) : nullptr;
        return node != nullptr && !node->dropped();
    }

private:
    YamlNode root_;
};

/// Fills in defaults that depend on other keys.
void complete(RunConfig& run, const StrategySpec& strategy, const TreeSource& source, const std::string& origin) {
    if (!source.gives("", "name")) run.name = name_of(origin);
    if (!source.gives("strategy", "weighting")) {
        const auto& method = run.strategy.parts.method;
        run.strategy.weighting = method != nullptr && method->equal_weights ? Weighting::Uniform : strategy.default_weighting;
    }
    PartitionConfig& partition = run.data.partition;
    const bool named = clients::partition_scheme(partition.scheme).names_clients;
    if (!partition.clients && !named) partition.clients = PartitionConfig::kDefaultClients;
    // If the data name the clients, a default cohort is all of them.
    if (!run.training.cohort && !run.training.participation && !named) run.training.cohort = partition.clients;
    if (!run.training.local_epochs && !run.training.local_steps) run.training.local_epochs = 1;
}

/// The file `kept` in place of strategy.`key`, which it is a copy of; `even_if_there`: also where that still is.
void use_kept(YamlNode& root, const char* key, const std::filesystem::path& kept, bool even_if_there) {
    const YamlNode* strategy = root.find("strategy");
    const YamlNode* file = strategy != nullptr ? strategy->find(key) : nullptr;
    if (file == nullptr || !std::filesystem::path(file->text).is_absolute() || !std::filesystem::exists(kept)) return;
    if (even_if_there || !std::filesystem::exists(file->text))
        apply_override(root, fmt::format("strategy.{}={}", key, std::filesystem::absolute(kept).string()));
}

/// The method, the rule and the visit that a run's folder keeps.
void use_kept_files(YamlNode& root, const std::filesystem::path& folder, bool even_if_there) {
    use_kept(root, "file", kept_method(folder), even_if_there);
    use_kept(root, "rule", folder / kRuleSource, even_if_there);
    use_kept(root, "visit", folder / kVisitSource, even_if_there);
}

}  // namespace

LoadedConfig load_config(const std::filesystem::path& file, const std::vector<std::string>& overrides) {
    YamlNode root = read_tree(file);
    if (const YamlNode* base = root.find("base"))
        throw ConfigError(
            fmt::format("{}: base: belongs to a sweep, not to one run; call: fedhive sweep {}", base->where(), file.string()));
    if (file.filename() == "config.yaml") use_kept_files(root, file.parent_path(), false);
    for (const std::string& assignment : overrides) apply_override(root, assignment);
    return load_tree(std::move(root));
}

std::string top_level_value(const std::string& yaml, const std::string& key) {
    try {
        const YamlNode root = parse_tree(yaml, "");
        const YamlNode* node = root.find(key);
        return node != nullptr ? node->text : "";
    } catch (const ConfigError&) {
        return "";
    }
}

RunConfig from_yaml(const std::string& text, const std::string& origin, const std::filesystem::path& folder) {
    YamlNode root = parse_tree(text, origin);
    if (!folder.empty()) use_kept_files(root, folder, true);
    return load_tree(std::move(root)).run;
}

LoadedConfig load_tree(YamlNode root) {
    LoadedConfig loaded;
    std::string missing;
    const std::string left = leave_former_keys(root);
    try {
        read_described(root, [&](Visitor& reader) { describe(reader, loaded.run); });
    } catch (const ModeKeysMissing& error) {
        missing = error.what();  // reported together with what the rules find
    }
    const std::string origin = root.origin;
    const auto source = std::make_shared<TreeSource>(std::move(root));
    const StrategySpec& strategy = strategy_spec(loaded.run.strategy.name);
    complete(loaded.run, strategy, *source, origin);
    loaded.notes = take_implied(loaded.run, [&](const auto& section, const auto& key) { return source->gives(section, key); });
    if (!left.empty()) loaded.notes.insert(loaded.notes.begin(), left);
    check_rules(loaded.run, strategy, *source, missing);
    settle_noise(loaded.run);
    loaded.source = source;
    return loaded;
}

LoadedConfig with_clients(LoadedConfig loaded, std::int64_t clients) {
    std::optional<std::int64_t>& known = loaded.run.data.partition.clients;
    if (known) return loaded;
    known = clients;
    check_rules(loaded.run, strategy_spec(loaded.run.strategy.name), *loaded.source, "");
    return loaded;
}

std::string name_of(const std::filesystem::path& file) {
    std::string name = file.stem().string();
    for (char& c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0 && std::string("._-").find(c) == std::string::npos) c = '_';
    if (name.empty() || name[0] == '.' || name[0] == '-') return fmt::format("_{}", name);
    return name;
}

}  // namespace fedhive::sim
