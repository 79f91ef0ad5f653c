#include "sim/config/reader.h"

#include "sim/config/fields.h"
#include "sim/config/layer_fields.h"
#include "sim/config/mistakes.h"
#include "sim/config/other_words.h"
#include "sim/config/run_keys.h"
#include "sim/config/scalars.h"
#include "sim/config/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <type_traits>

namespace fedhive::sim {

namespace {

std::string joined(const std::vector<std::string>& words, const std::string& separator = ", ") {
    return fmt::format("{}", fmt::join(words, separator));
}

class Reader : public Visitor {
public:
    explicit Reader(const YamlNode& root) { levels_.push_back({&root, "", {}}); }

    void begin(const Section& section) override {
        levels_.back().known.push_back({section.name, section.when});
        const YamlNode* node = !section.when || section.when->holds() ? present(section.name) : nullptr;
        const std::string path = path_of(section.name);
        all_paths_.insert(path);
        const YamlNode* other = node != nullptr && node->kind != YamlNode::Kind::Map ? node : nullptr;
        levels_.push_back({other != nullptr ? nullptr : node, path, {}, other});
    }

    void end() override {
        const Level level = levels_.back();
        close_level();
        levels_.pop_back();
        if (level.other != nullptr)
            add(kValue, *level.other, level.path,
                fmt::format("expected keys below it, found {}{}", found(*level.other), how_to_write(level)));
    }

    void items(const ItemList& list) override {
        levels_.back().known.push_back({list.name, {}});
        all_paths_.insert(path_of(list.name));
        const YamlNode* node = present(list.name);
        if (node == nullptr) return;
        const std::string path = path_of(list.name);
        if (node->kind != YamlNode::Kind::List)
            return wrong_type(*node, path, "a list", "", "write one map per line, each after '- '");
        list.resize(node->children.size());
        for (std::size_t i = 0; i < node->children.size(); ++i) {
            const YamlNode& item = node->children[i];
            const std::string item_path = fmt::format("{}[{}]", path, i);
            if (item.kind != YamlNode::Kind::Map) {
                wrong_type(item, item_path, "a map", "", how_to_write_item(list, item, item_path));
                continue;
            }
            read_section(item, item_path, [&](Visitor&) { list.item(*this, i); });
        }
    }

    void refuse(const std::string& name, const std::string& problem) override {
        add(kValue, *present(name), path_of(name), problem);
        levels_.back().node = nullptr;  // its other keys may be the method's
    }

    void other(const std::string& name) override { levels_.back().known.push_back({name, {}}); }

    bool wants_all() const override { return true; }  // to know which choice a key belongs to

    void field(const Field& field) override {
        if (levels_.back().known.empty()) levels_.back().choices = field.words();
        levels_.back().known.push_back({field.name, field.when});
        all_paths_.insert(path_of(field.name));
        if (field.when && !field.when->holds()) return;
        const YamlNode* node = present(field.name);
        if (node != nullptr)
            std::visit([&](auto target) { read(*node, path_of(field.name), field, *target); }, field.target);
        else if (field.required && std::ranges::all_of(field.or_else, [&](const auto& key) { return present(key) == nullptr; }))
            add_missing(field);
    }

    /// Throws the mistakes, if any, without those that another mistake explains.
    void finish() {
        close_level();
        for (const Unknown& unknown : unknown_) report_unknown(unknown);
        Mistakes mistakes;
        bool in_keys_alone = true, only_mode_lacks = true;
        for (const Problem& problem : problems_) {
            if (is_explained(problem)) continue;
            mistakes.add(problem.text);
            in_keys_alone = in_keys_alone && (problem.rank == kUnknown || problem.rank == kValue);
            only_mode_lacks = only_mode_lacks && problem.rank == kMissing && lies_in(problem.path, "mode");
        }
        if (mistakes.none()) return;
        if (in_keys_alone) throw KeyError(mistakes.text());
        if (only_mode_lacks) throw ModeKeysMissing(mistakes.text());
        throw ConfigError(mistakes.text());
    }

private:
    enum Rank { kUnknown, kValue, kMissing, kOtherChoice };
    struct Problem {
        Rank rank;
        std::string path;
        std::string chooser;  // kOtherChoice: path of the key that selects
        std::string text;
    };
    struct Known {
        std::string name;
        std::optional<Condition> when;
        bool applies() const { return !when || when->holds(); }
    };
    struct Level {
        const YamlNode* node;  // null if the section is left out
        std::string path;
        std::vector<Known> known;
        const YamlNode* other = nullptr;     // the node in the section's place
        std::vector<std::string> choices{};  // of its first key
    };
    struct Unknown {
        const YamlNode* node;
        std::string path;
        std::vector<std::string> candidates;
    };

    std::string path_of(const std::string& name) const {
        return levels_.back().path.empty() ? name : levels_.back().path + "." + name;
    }

    /// Reads `node`, whose keys `show` describes.
    void read_section(const YamlNode& node, const std::string& path, const std::function<void(Visitor&)>& show) {
        levels_.push_back({&node, path, {}});
        show(*this);
        close_level();
        levels_.pop_back();
    }

    const YamlNode* present(const std::string& name) const {
        const YamlNode* section = levels_.back().node;
        const YamlNode* node = section != nullptr ? section->find(name) : nullptr;
        return node != nullptr && !node->dropped() ? node : nullptr;
    }

    void add(Rank rank, const YamlNode& node, const std::string& path, const std::string& problem,
             const std::string& chooser = "") {
        problems_.push_back({rank, path, chooser, fmt::format("{}: {}: {}", node.where(), path, problem)});
    }

    /// A missing key is explained if the key or its section is misspelt; a key of another choice, if the choice is wrong.
    bool is_explained(const Problem& problem) const {
        const auto concerns = [&](const std::string& path) {
            return lies_in(problem.path, path) || (!problem.chooser.empty() && problem.chooser == path);
        };
        if (problem.rank != kMissing && problem.rank != kOtherChoice) return false;
        if (std::any_of(meant_.begin(), meant_.end(), concerns)) return true;
        return std::any_of(problems_.begin(), problems_.end(), [&](const Problem& other) {
            return (other.rank == kValue || (other.rank == kMissing && problem.rank == kOtherChoice)) && concerns(other.path);
        });
    }

    /// For a name in place of a section that begins with a choice: "; write strategy: {name: fedavg}".
    static std::string how_to_write(const Level& level) {
        const YamlNode& node = *level.other;
        if (node.kind == YamlNode::Kind::Null) return "; write them or remove the line";
        if (level.choices.empty() || !is_word(node)) return "";
        const std::string& key = level.known.front().name;
        const ValueMeant meant = value_meant(level.path + "." + key, node.text, level.choices);
        const std::string value = meant.value.empty() ? "…" : meant.value;
        const std::string form = node.from_override() ? fmt::format("{}.{}={}", level.path, key, value)
                                                      : fmt::format("{}: {{{}: {}}}", node.key, key, value);
        if (meant.is_same) return fmt::format("; write {}", form);
        return fmt::format("; write {}; allowed: {}{}", form, joined(level.choices), meant.value.empty() ? meant.advice : "");
    }

    /// The same for an item of a list: "write {name: clip}".
    std::string how_to_write_item(const ItemList& list, const YamlNode& item, const std::string& path) {
        levels_.push_back({nullptr, path, {}, &item});
        list.example(*this);
        const Level level = levels_.back();
        levels_.pop_back();
        const std::string& key = level.known.front().name;
        if (!is_word(item)) return fmt::format("write {{{}: …}}", key);
        const ValueMeant meant = value_meant(path + "." + key, item.text, level.choices);
        return fmt::format("write {{{}: {}}}{}", key, meant.value.empty() ? "…" : meant.value,
                           meant.value.empty() ? meant.advice : "");
    }

    /// Blames the file, or, if --set or a sweep has replaced the section or the choice that needs the key, that.
    void add_missing(const Field& field) {
        const YamlNode* section = levels_.back().node;
        const YamlNode* choice = field.when ? present(field.when->key) : nullptr;
        const bool in_list = levels_.back().path.find(']') != std::string::npos;
        const YamlNode* blamed = levels_.front().node;
        if (section != nullptr && (section->grafted || in_list))
            blamed = section;
        else if (choice != nullptr && choice->grafted)
            blamed = choice;
        std::string problem = "is missing";
        if (field.when) problem += fmt::format("; {} '{}' needs it", chooser(field.when->key), field.when->value);
        if (const auto words = field.words(); !words.empty()) problem += "; allowed: " + joined(words);
        if (!field.or_else.empty()) problem += fmt::format("; or give {}", fmt::join(field.or_else, " or "));
        const std::string where = in_list || blamed->grafted ? blamed->where() : blamed->origin;
        problems_.push_back(
            {kMissing, path_of(field.name), "", fmt::format("{}: {}: {}", where, path_of(field.name), problem)});
    }

    /// The name of a condition's key in a sentence: model.name is "model", data.format is "format".
    std::string chooser(const std::string& key) const {
        if (key != "name") return key;
        return levels_.back().path.substr(levels_.back().path.rfind('.') + 1);
    }

    void close_level() {
        const Level& level = levels_.back();
        if (level.node == nullptr) return;
        std::vector<std::string> here;
        for (const Known& known : level.known)
            if (known.applies()) here.push_back(known.name);
        for (const YamlNode& child : level.node->children) {
            if (std::find(here.begin(), here.end(), child.key) != here.end()) continue;
            const auto same = [&](const Known& known) { return known.name == child.key; };
            const auto other = std::find_if(level.known.begin(), level.known.end(), same);
            if (other == level.known.end())
                unknown_.push_back({&child, path_of(child.key), here});
            else if (!child.dropped())
                add_other_choice(child, *other->when, here);
        }
    }

    void add_other_choice(const YamlNode& node, const Condition& when, const std::vector<std::string>& here) {
        if (when.values.empty())
            return add(kOtherChoice, node, path_of(node.key),
                       fmt::format("'{}' and '{}' are both given; keep one", when.key, node.key), path_of(when.key));
        std::vector<std::string> owners;
        for (const Known& known : levels_.back().known)
            if (known.name == node.key) owners.insert(owners.end(), known.when->values.begin(), known.when->values.end());
        const YamlNode* chosen = present(when.key);
        const bool by_other = chosen != nullptr && chosen->grafted && chosen->where() != node.where();
        const std::string by = by_other ? fmt::format(" ({})", chosen->where()) : "";
        add(kOtherChoice, node, path_of(node.key),
            fmt::format("'{}' belongs to {} '{}'; the {} here {}{}; known keys: {}", node.key, chooser(when.key),
                        joined(owners, "' or '"), chooser(when.key),
                        when.value.empty() ? "has no name" : "is '" + when.value + "'", by, joined(here)),
            path_of(when.key));
    }

    void report_unknown(const Unknown& unknown) {
        const std::string& word = unknown.node->key;
        const std::size_t dot = unknown.path.size() - word.size();
        const std::string section = unknown.path.substr(0, dot == 0 ? 0 : dot - 1);
        std::string near = meant_by_other_word(*unknown.node, section);
        if (!near.empty()) {
            meant_.push_back(near);
            if (lies_in(near, section) && near.find('.', dot) == std::string::npos) near = near.substr(dot);
        } else if (near = nearest_word(word, unknown.candidates); !near.empty()) {
            meant_.push_back(unknown.path.substr(0, dot) + near);
        } else {
            std::vector<std::string> elsewhere;
            for (const std::string& path : all_paths_)
                if (path.size() > word.size() && path.ends_with("." + word)) elsewhere.push_back(path);
            if (elsewhere.size() == 1) near = elsewhere.front();
        }
        const std::string problem = near.empty() ? fmt::format("unknown key; known keys: {}", joined(unknown.candidates))
                                                 : fmt::format("unknown key; did you mean '{}'?", near);
        add(kUnknown, *unknown.node, unknown.path, problem);
    }

    /// Path of the key that an unknown key means; for a map, of the section. Empty if no key that is read here is known by that
    /// word.
    std::string meant_by_other_word(const YamlNode& node, const std::string& section) const {
        std::string key = key_meant(node.key, section);
        if (node.kind == YamlNode::Kind::Map && run_keys().contains(key)) key = key.substr(0, key.rfind('.'));
        return all_paths_.contains(key) ? key : "";
    }

    /// "wants an integer, found '1e3'; allowed: 1 or more; write 1000"
    void wrong_type(const YamlNode& node, const std::string& path, const std::string& wanted, const std::string& allowed,
                    const std::string& advice = "") {
        add(kValue, node, path,
            fmt::format("expected {}, found {}{}{}", wanted, found(node), allowed.empty() ? "" : "; allowed: " + allowed,
                        advice.empty() ? "" : "; " + advice));
    }

    template <class Integer>
    requires std::is_integral_v<Integer>
    void read(const YamlNode& node, const std::string& path, const Field& field, Integer& target) {
        const std::string allowed = field.numbers();
        if (node.kind != YamlNode::Kind::Plain || !is_integer(node.text)) {
            const Number number = parse_number(node.text);
            std::string advice;
            if (number.valid && std::abs(number.value) < 1e15 && number.value == std::floor(number.value))
                advice = node.kind == YamlNode::Kind::Quoted ? "remove the quotes" : fmt::format("write {:.0f}", number.value);
            return wrong_type(node, path, "an integer", allowed, advice);
        }
        const char* begin = node.text.data() + (node.text[0] == '+' ? 1 : 0);
        Integer value = 0;
        const auto [stop, error] = std::from_chars(begin, node.text.data() + node.text.size(), value);
        if (error == std::errc::result_out_of_range)
            return add(kValue, node, path,
                       fmt::format("{} does not fit in 64 bits; allowed: {}", shortened(node.text), allowed));
        if (error != std::errc() || !field.range.contains(static_cast<double>(value)))  // or a sign that is not allowed
            return add(kValue, node, path, fmt::format("{} is out of range; allowed: {}", node.text, allowed));
        target = value;
    }

    void read(const YamlNode& node, const std::string& path, const Field& field, double& target) {
        const std::string allowed = field.numbers();
        const Number number = parse_number(node.text);
        if (node.kind != YamlNode::Kind::Plain || !number.valid)
            return wrong_type(node, path, "a number", allowed,
                              node.kind == YamlNode::Kind::Quoted && number.valid ? "remove the quotes" : "");
        if (!fits_float(number.value)) {
            if (node.text.find_first_of("iInN") != std::string::npos) return wrong_type(node, path, "a finite number", allowed);
            return add(kValue, node, path,
                       fmt::format("{} does not fit in 32-bit floating point; allowed: {}", shortened(node.text), allowed));
        }
        if (!field.range.contains(number.value) || !field.range.contains(static_cast<double>(static_cast<float>(number.value))))
            return add(kValue, node, path, fmt::format("{} is out of range; allowed: {}", shortened(node.text), allowed));
        target = number.value;
    }

    void read(const YamlNode& node, const std::string& path, const Field&, bool& target) {
        if (const bool is_one = node.text == "true" || node.text == "false"; node.kind != YamlNode::Kind::Plain || !is_one)
            return wrong_type(node, path, "true or false", "", is_one ? "remove the quotes" : "");
        target = node.text == "true";
    }

    void read(const YamlNode& node, const std::string& path, const Field& field, std::string& target) {
        const std::vector<std::string> words = field.words(), all = field.read_words();
        if (!is_word(node)) return wrong_type(node, path, "a word", joined(words));
        if (!words.empty() && std::find(all.begin(), all.end(), node.text) == all.end())
            return add(kValue, node, path,
                       fmt::format("unknown value '{}'; allowed: {}{}", shortened(node.text), joined(words),
                                   value_meant(path, node.text, all).advice));
        target = node.text;
    }

    void read(const YamlNode& node, const std::string& path, const Field& field, const WordRef& target) {
        std::string word;  // stays empty after a mistake
        read(node, path, field, word);
        if (!word.empty()) target.set(word == field.empty_word ? "" : word);
    }

    void read(const YamlNode& node, const std::string& path, const Field&, std::filesystem::path& target) {
        if (!is_word(node)) return wrong_type(node, path, "a path", "");
        if (node.text.empty()) return add(kValue, node, path, "is empty; write a path");
        const std::filesystem::path file = node.from_override() ? "" : node.origin;
        target = (std::filesystem::current_path() / file.parent_path() / node.text).lexically_normal();
    }

    template <class Value>
    void read(const YamlNode& node, const std::string& path, const Field& field, std::vector<Value>& target) {
        const char* const wanted = std::is_same_v<Value, double> ? "a list of numbers" : "a list of words";
        const std::string quote = node.kind == YamlNode::Kind::Quoted ? "\"" : "";
        const std::string advice = is_word(node) ? fmt::format("write [{0}{1}{0}]", quote, shortened(node.text)) : "";
        if (node.kind != YamlNode::Kind::List) return wrong_type(node, path, wanted, field.range.text(), advice);
        target.resize(node.children.size());
        for (std::size_t i = 0; i < target.size(); ++i)
            read(node.children[i], fmt::format("{}[{}]", path, i), field, target[i]);
    }

    void read(const YamlNode& node, const std::string& path, const Field&, clients::LayerList& target) {
        read_layers(node, path, target,
                    {[this](const YamlNode& at, const auto&... mistake) { add(kValue, at, mistake...); },
                     [this](const auto&... section) { read_section(section...); }});
    }

    template <class Value>
    void read(const YamlNode& node, const std::string& path, const Field& field, std::optional<Value>& target) {
        target.reset();
        if (!field.empty_word.empty() && is_word(node) && node.text == field.empty_word) return;
        Value value{};
        read(node, path, field, value);
        target = value;
    }

    std::vector<Level> levels_;
    std::set<std::string> all_paths_;
    std::vector<Unknown> unknown_;
    std::vector<Problem> problems_;
    std::vector<std::string> meant_;  // probable meanings of unknown keys
};

}  // namespace

void read_described(const YamlNode& root, const std::function<void(Visitor&)>& description) {
    Reader reader(root);
    description(reader);
    reader.finish();
}

}  // namespace fedhive::sim
