#include "sim/config/sweep_config.h"

#include "sim/config/fields.h"
#include "sim/config/load_config.h"
#include "sim/config/load_tree.h"
#include "sim/config/named_methods.h"
#include "sim/config/reader.h"
#include "sim/config/refused_runs.h"
#include "sim/config/run_keys.h"
#include "sim/config/sweep_axes.h"
#include "sim/config/sweep_ids.h"
#include "sim/config/sweep_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace fedhive::sim {

namespace {

using Texts = std::map<std::string, std::string>;

/// All options of each axis.
using Options = std::vector<std::vector<std::vector<Change>>>;

Options made(const std::vector<Axis>& axes) {
    Options options;
    for (const Axis& axis : axes) {
        options.emplace_back();
        for (std::uint64_t i = 0; i < axis.size; ++i) options.back().push_back(axis.option(i));
    }
    return options;
}

/// The option of each axis in run `index`; the last axis varies fastest.
std::vector<std::size_t> choices_of(const Options& options, std::uint64_t index) {
    std::vector<std::size_t> choices(options.size());
    for (std::size_t a = options.size(); a-- > 0; index /= options[a].size()) choices[a] = index % options[a].size();
    return choices;
}

/// Adds a key; a section counts as the keys given in it; `seed` is left out.
void add_keys(const std::string& key, const YamlNode& value, std::vector<std::string>& keys) {
    if (value.kind == YamlNode::Kind::Map) {
        for (const YamlNode& child : value.children) add_keys(key + "." + child.key, child, keys);
    } else if (key != "seed" && std::find(keys.begin(), keys.end(), key) == keys.end()) {
        keys.push_back(key);
    }
}

std::vector<std::string> given_keys(const std::vector<Axis>& axes, const Options& options) {
    std::vector<std::string> keys;
    for (std::size_t a = 0; a < axes.size(); ++a)
        for (const AxisKey& key : axes[a].keys)
            for (const std::vector<Change>& option : options[a])
                for (const Change& change : option)
                    if (change.key == key.key) add_keys(change.key, change.value, keys);
    return keys;
}

/// A section that some runs leave out as a whole (`stop: null`) varies by the keys that other runs have in it.
std::vector<std::string> without_sections(const std::vector<std::string>& given, const std::vector<SweepRun>& runs) {
    std::vector<std::string> keys;
    for (const std::string& key : given) {
        if (run_keys().count(key) > 0) {
            keys.push_back(key);
            continue;
        }
        for (const SweepRun& run : runs)
            for (const Leaf& leaf : leaves_of(run.config))
                if (lies_in(leaf.key, key) && std::find(keys.begin(), keys.end(), leaf.key) == keys.end())
                    keys.push_back(leaf.key);
    }
    return keys;
}

/// Values of all keys that apply; a list of maps is one text.
Texts values_of(const RunConfig& run) {
    Texts values;
    std::string last_item;
    for (const Leaf& leaf : leaves_of(run)) {
        const std::size_t bracket = leaf.key.find('[');
        std::string& text = values[leaf.key.substr(0, bracket)];
        if (bracket == std::string::npos) {
            text = leaf.text;
            continue;
        }
        const std::string item = leaf.key.substr(0, leaf.key.rfind('.'));
        const std::string entry = fmt::format("{}: {}", leaf.key.substr(item.size() + 1), leaf.text);
        if (item == last_item)
            text.insert(text.size() - 2, ", " + entry);
        else
            text = fmt::format("{}{{{}}}]", text.empty() ? "[" : text.substr(0, text.size() - 1) + ", ", entry);
        last_item = item;
    }
    if (const auto& method = run.strategy.parts.method; method != nullptr)
        if (const NamedMethod* named = named_method(method->name); named != nullptr && named->file == run.strategy.file)
            values["strategy.name"] = named->name;  // that the resolved config has as a file
    return values;
}

std::vector<Setting> settings_of(const std::vector<std::string>& keys, const Texts& values) {
    std::vector<Setting> settings;
    for (const std::string& key : keys) {
        const auto value = values.find(key);
        settings.push_back({key, value == values.end() ? "" : value->second});
    }
    return settings;
}

/// As values_of, as far as possible, for a tree that cannot be read.
void add_texts(const std::string& path, const YamlNode& node, Texts& values) {
    if (node.kind != YamlNode::Kind::Map && !path.empty()) values[path] = node.text;
    for (const YamlNode& child : node.children)
        if (node.kind == YamlNode::Kind::Map) add_texts(path.empty() ? child.key : path + "." + child.key, child, values);
}

class Expansion {
public:
    Expansion(const std::vector<Axis>& axes, YamlNode base) : axes_(axes), base_(std::move(base)), options_(made(axes)) {
        keys_ = given_keys(axes_, options_);
        for (const Axis& axis : axes)
            for (const AxisKey& key : axis.keys) with_seed_ = with_seed_ || (key.key == "seed" && axis.size > 1);
    }

    /// Fills keys and runs.
    void expand(std::uint64_t count, SweepConfig& sweep) {
        RefusedRuns refused;
        for (std::uint64_t i = 0; i < count; ++i)
            if (std::optional<SweepRun> run = load(choices_of(options_, i), refused)) sweep.runs.push_back(std::move(*run));
        if (!refused.none()) throw ConfigError(refused.text(count));
        sweep.keys = without_sections(keys_, sweep.runs);
        const std::vector<std::string> names = short_names(sweep.keys);
        for (SweepRun& run : sweep.runs) {
            run.settings = settings_of(sweep.keys, values_of(run.config));
            run.id = id_of(names, run.settings, run.case_name, run.config.seed);
        }
        refuse_equal_runs(sweep.runs);
        set_ids_apart(sweep.runs);
    }

private:
    /// Empty for a run that is refused.
    std::optional<SweepRun> load(const std::vector<std::size_t>& choices, RefusedRuns& refused) const {
        YamlNode root = base_;
        for (std::size_t a = 0; a < choices.size(); ++a)
            for (const Change& change : options_[a][choices[a]]) graft(root, change.key, change.value);
        std::string case_name;
        for (std::size_t a = 0; a < choices.size(); ++a)
            if (!axes_[a].names.empty()) case_name = axes_[a].names[choices[a]];
        const YamlNode* workers = root.find("workers");
        const bool workers_given = workers != nullptr && workers->grafted;
        Texts texts;
        add_texts("", root, texts);
        try {
            LoadedConfig loaded = load_tree(std::move(root));
            SweepRun run;
            run.workers_given = workers_given && loaded.run.workers.has_value();
            run.config = std::move(loaded.run);
            run.source = std::move(loaded.source);
            run.notes = std::move(loaded.notes);
            run.case_name = case_name;
            return run;
        } catch (const KeyError&) {
            throw;
        } catch (const ConfigError& error) {
            refused.add(provisional_id(texts, case_name), error.what());
            return std::nullopt;
        }
    }

    /// The run's id if its config could be read.
    std::string provisional_id(const Texts& texts, const std::string& case_name) const {
        std::uint64_t seed = RunConfig().seed;
        if (const auto given = texts.find("seed"); given != texts.end())
            std::from_chars(given->second.data(), given->second.data() + given->second.size(), seed);
        return id_of(short_names(keys_), settings_of(keys_, texts), case_name, seed);
    }

    bool is_of_cases(const std::string& key) const {
        for (const Axis& axis : axes_)
            for (const AxisKey& of_axis : axis.keys)
                if (!axis.names.empty() && lies_in(key, of_axis.key)) return true;
        return false;
    }

    /// A case's name replaces the keys that cases set.
    std::string id_of(const std::vector<std::string>& names, const std::vector<Setting>& settings, const std::string& case_name,
                      std::uint64_t seed) const {
        if (case_name.empty()) return run_id(names, settings, seed, with_seed_);
        std::vector<std::string> shown_names;
        std::vector<Setting> shown;
        const auto first =
            std::find_if(settings.begin(), settings.end(), [&](const Setting& one) { return is_of_cases(one.key); });
        const std::size_t place = first == settings.end() ? 0 : static_cast<std::size_t>(first - settings.begin());
        for (std::size_t i = 0; i <= settings.size(); ++i) {
            if (i == place) {
                shown_names.emplace_back();
                shown.push_back({"case", case_name});
            }
            if (i == settings.size() || is_of_cases(settings[i].key)) continue;
            shown_names.push_back(names[i]);
            shown.push_back(settings[i]);
        }
        return run_id(shown_names, shown, seed, with_seed_);
    }

    void refuse_equal_runs(const std::vector<SweepRun>& runs) const {
        std::map<std::string, std::size_t> first;
        for (std::size_t i = 0; i < runs.size(); ++i) {
            const auto [before, is_new] = first.emplace(to_yaml(runs[i].config), i);
            if (is_new) continue;
            const std::vector<std::size_t> left = choices_of(options_, before->second);
            const std::vector<std::size_t> right = choices_of(options_, i);
            std::size_t a = 0;
            while (left[a] == right[a]) ++a;
            throw ConfigError(fmt::format("{}: {}: gives the same run as {} ({}), '{}'; {}", where(a, right[a]),
                                          place(a, right[a]), place(a, left[a]), where(a, left[a]), runs[i].id,
                                          axes_[a].is_random ? "draw fewer runs, or draw from more values" : "keep one"));
        }
    }

    std::string place(std::size_t axis, std::size_t option) const { return fmt::format("{}[{}]", axes_[axis].path, option); }
    std::string where(std::size_t axis, std::size_t option) const {
        const std::vector<Change>& changes = options_[axis][option];
        return changes.empty() ? axes_[axis].where : changes.front().value.where();
    }

    /// Equal ids get a hash of the config: their runs differ only in values that a replaced section no longer gives.
    static void set_ids_apart(std::vector<SweepRun>& runs) {
        std::map<std::string, int> uses;
        for (const SweepRun& run : runs) ++uses[run.id];
        std::set<std::string> ids;
        for (SweepRun& run : runs) {
            if (uses[run.id] > 1) run.id = hashed_id(run.id, to_yaml(run.config));
            FEDHIVE_CHECK(ids.insert(run.id).second, "two runs have the id {}", run.id);
        }
    }

    const std::vector<Axis>& axes_;
    YamlNode base_;
    Options options_;
    std::vector<std::string> keys_;
    bool with_seed_ = false;
};

}  // namespace

SweepConfig load_sweep(const std::filesystem::path& file, const std::vector<std::string>& overrides) {
    const SweepFile sweep = read_sweep_file(file);
    YamlNode base = read_base(sweep);
    for (const std::string& assignment : overrides) apply_override(base, assignment);
    const std::vector<Axis> axes = axes_of(sweep, base);
    check_not_varied(axes, sweep, overrides);
    const std::uint64_t count = count_runs(axes, sweep);

    SweepConfig config;
    config.name = sweep.name;
    config.file = std::filesystem::absolute(file).lexically_normal();
    config.overrides = overrides;
    config.targets = sweep.targets;
    config.early_stopping = sweep.early_stopping;
    Expansion(axes, std::move(base)).expand(count, config);
    check_targets(config, sweep.root);
    check_early_stopping(config, sweep.root);
    return config;
}

}  // namespace fedhive::sim
