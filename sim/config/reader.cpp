#include "sim/config/reader.h"

#include "sim/config/fields.h"
#include "sim/config/layer_fields.h"
#include "sim/config/mistakes.h"
#include "sim/config/run_keys.h"
#include "sim/config/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cfloat>
#include <charconv>
#include <cmath>
#include <set>
#include <type_traits>

namespace fedhive::sim {

namespace {

std::string joined(const std::vector<std::string>& words, const std::string& separator = ", ") {
    return fmt::format("{}", fmt::join(words, separator));
}

std::string printable(std::string text) {
    if (text.size() > 60) text.replace(57, std::string::npos, "...");
    for (char& c : text) c = c >= 0 && c < ' ' ? '?' : c;
    return text;
}

bool is_integer(const std::string& text) {
    const std::size_t sign = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
    const bool digits = text.size() > sign && text.find_first_not_of("0123456789", sign) == std::string::npos;
    return digits && (text[sign] != '0' || text.size() == sign + 1);  // 010 is octal to some readers
}

struct Number {
    bool valid = false;  // it is a number at all
    double value = 0.0;  // infinite or NaN where it does not fit
};

Number parse_number(const std::string& text) {
    static const std::vector<std::string> not_finite = {"inf", ".inf", ".Inf", ".INF", "nan", ".nan", ".NaN", ".NAN"};
    const std::size_t sign = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
    if (std::find(not_finite.begin(), not_finite.end(), text.substr(sign)) != not_finite.end()) return {true, INFINITY};
    if (text.size() == sign || (text[sign] != '.' && (text[sign] < '0' || text[sign] > '9'))) return {};
    double value = 0.0;
    const char* begin = text.data() + (text[0] == '+' ? 1 : 0);
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(begin, end, value);
    if (stop != end || error == std::errc::invalid_argument) return {};
    return {true, error == std::errc::result_out_of_range ? INFINITY : value};
}

/// What the client's and the server's arithmetic makes of it has to be inside the range too: 0.99999999999 becomes 1.
bool fits_float(double value) { return value == 0.0 || (std::abs(value) <= FLT_MAX && std::abs(value) >= FLT_MIN); }

class Reader : public Visitor {
public:
    explicit Reader(const Node& root) { levels_.push_back({&root, "", {}}); }

    void begin(const Section& section) override {
        levels_.back().known.push_back({section.name, section.when});
        const Node* node = !section.when || section.when->holds() ? present(section.name) : nullptr;
        const std::string path = path_of(section.name);
        if (node != nullptr && node->kind != Node::Kind::Map) {
            add(kValue, *node, path,
                fmt::format("wants keys below it, found {}{}", found(*node),
                            node->kind == Node::Kind::Null ? "; write them or take the line out" : ""));
            node = nullptr;
        }
        levels_.push_back({node, path, {}});
    }

    void end() override {
        close_level();
        levels_.pop_back();
    }

    void items(const ItemList& list) override {
        levels_.back().known.push_back({list.name, {}});
        const Node* node = present(list.name);
        if (node == nullptr) return;
        const std::string path = path_of(list.name);
        if (node->kind != Node::Kind::List) return wrong_type(*node, path, "a list", "", "write - and one map a line");
        list.resize(node->children.size());
        for (std::size_t i = 0; i < node->children.size(); ++i) {
            const Node& item = node->children[i];
            const std::string item_path = fmt::format("{}[{}]", path, i);
            if (item.kind != Node::Kind::Map) {
                wrong_type(item, item_path, "a map", "", "write {key: value, …}");
                continue;
            }
            read_section(item, item_path, [&](Visitor&) { list.item(*this, i); });
        }
    }

    void other(const std::string& name) override { levels_.back().known.push_back({name, {}}); }

    bool wants_all() const override { return true; }  // to know whose keys they are

    void field(const Field& field) override {
        levels_.back().known.push_back({field.name, field.when});
        all_paths_.insert(path_of(field.name));
        if (field.when && !field.when->holds()) return;
        const Node* node = present(field.name);
        if (node != nullptr)
            std::visit([&](auto* target) { read(*node, path_of(field.name), field, *target); }, field.target);
        else if (field.required && std::ranges::all_of(field.or_else, [&](const auto& key) { return present(key) == nullptr; }))
            add_missing(field);
    }

    /// Throws what is wrong, if anything is; not what another mistake explains.
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
        std::string chooser;  // kOtherChoice: the path of the key that decides
        std::string text;
    };
    struct Known {
        std::string name;
        std::optional<Condition> when;
        bool applies() const { return !when || when->holds(); }
    };
    struct Level {
        const Node* node;  // null where the section is left out
        std::string path;
        std::vector<Known> known;
    };
    struct Unknown {
        const Node* node;
        std::string path;
        std::vector<std::string> candidates;
    };

    std::string path_of(const std::string& name) const {
        return levels_.back().path.empty() ? name : levels_.back().path + "." + name;
    }

    /// The keys of `node` are those that `show` describes.
    void read_section(const Node& node, const std::string& path, const std::function<void(Visitor&)>& show) {
        levels_.push_back({&node, path, {}});
        show(*this);
        close_level();
        levels_.pop_back();
    }

    const Node* present(const std::string& name) const {
        const Node* section = levels_.back().node;
        const Node* node = section != nullptr ? section->find(name) : nullptr;
        return node != nullptr && !node->dropped() ? node : nullptr;
    }

    void add(Rank rank, const Node& node, const std::string& path, const std::string& problem,
             const std::string& chooser = "") {
        problems_.push_back({rank, path, chooser, fmt::format("{}: {}: {}", node.where(), path, problem)});
    }

    /// A key is missing since it, or its section, is written wrongly; a key seems to be another choice's since the choice is.
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

    /// The file as a whole is to blame, or who put the section, or the choice that needs the key, over it.
    void add_missing(const Field& field) {
        const Node* section = levels_.back().node;
        const Node* choice = field.when ? present(field.when->key) : nullptr;
        const bool in_list = levels_.back().path.find(']') != std::string::npos;
        const Node* blamed = levels_.front().node;
        if (section != nullptr && (section->grafted || in_list))
            blamed = section;
        else if (choice != nullptr && choice->grafted)
            blamed = choice;
        std::string problem = "is missing";
        if (field.when) problem += fmt::format("; {} '{}' needs it", chooser(field.when->key), field.when->value);
        if (!field.choices.empty()) problem += "; allowed: " + joined(field.choices);
        if (!field.or_else.empty()) problem += fmt::format("; or give {}", fmt::join(field.or_else, " or "));
        const std::string where = in_list || blamed->grafted ? blamed->where() : blamed->origin;
        problems_.push_back(
            {kMissing, path_of(field.name), "", fmt::format("{}: {}: {}", where, path_of(field.name), problem)});
    }

    /// What a condition's key is called in a sentence: model.name is "model", data.format is "format".
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
        for (const Node& child : level.node->children) {
            if (std::find(here.begin(), here.end(), child.key) != here.end()) continue;
            const auto same = [&](const Known& known) { return known.name == child.key; };
            const auto other = std::find_if(level.known.begin(), level.known.end(), same);
            if (other == level.known.end())
                unknown_.push_back({&child, path_of(child.key), here});
            else if (!child.dropped())
                add_other_choice(child, *other->when, here);
        }
    }

    void add_other_choice(const Node& node, const Condition& when, const std::vector<std::string>& here) {
        if (when.values.empty())
            return add(kOtherChoice, node, path_of(node.key),
                       fmt::format("'{}' and '{}' are both given; keep one", when.key, node.key), path_of(when.key));
        std::vector<std::string> owners;
        for (const Known& known : levels_.back().known)
            if (known.name == node.key) owners.insert(owners.end(), known.when->values.begin(), known.when->values.end());
        const Node* chosen = present(when.key);
        const bool by_other = chosen != nullptr && chosen->grafted && chosen->where() != node.where();
        const std::string by = by_other ? fmt::format(" ({})", chosen->where()) : "";
        add(kOtherChoice, node, path_of(node.key),
            fmt::format("'{}' belongs to {} '{}'; the {} here {}{}; known keys: {}", node.key, chooser(when.key),
                        joined(owners, "' or '"), chooser(when.key),
                        when.value.empty() ? "has no name" : "is '" + when.value + "'", by, joined(here)),
            path_of(when.key));
    }

    void report_unknown(const Unknown& unknown) {
        std::string near = nearest_word(unknown.node->key, unknown.candidates);
        if (!near.empty()) {
            const std::size_t dot = unknown.path.size() - unknown.node->key.size();
            meant_.push_back(unknown.path.substr(0, dot) + near);
        } else {
            std::vector<std::string> elsewhere;
            for (const std::string& path : all_paths_)
                if (path.size() > unknown.node->key.size() && path.ends_with("." + unknown.node->key))
                    elsewhere.push_back(path);
            if (elsewhere.size() == 1) near = elsewhere.front();
        }
        const std::string problem = near.empty() ? fmt::format("unknown key; known keys: {}", joined(unknown.candidates))
                                                 : fmt::format("unknown key; did you mean '{}'?", near);
        add(kUnknown, *unknown.node, unknown.path, problem);
    }

    /// "wants an integer, found '1e3'; allowed: 1 or more; write 1000"
    void wrong_type(const Node& node, const std::string& path, const std::string& wanted, const std::string& allowed,
                    const std::string& advice = "") {
        add(kValue, node, path,
            fmt::format("wants {}, found {}{}{}", wanted, found(node), allowed.empty() ? "" : "; allowed: " + allowed,
                        advice.empty() ? "" : "; " + advice));
    }

    static std::string allowed_numbers(const Field& field) {
        return field.empty_word.empty() ? field.range.text() : field.empty_word + ", " + field.range.text();
    }

    template <class Integer>
    requires std::is_integral_v<Integer>
    void read(const Node& node, const std::string& path, const Field& field, Integer& target) {
        const std::string allowed = allowed_numbers(field);
        if (node.kind != Node::Kind::Plain || !is_integer(node.text)) {
            const Number number = parse_number(node.text);
            std::string advice;
            if (number.valid && std::abs(number.value) < 1e15 && number.value == std::floor(number.value))
                advice = node.kind == Node::Kind::Quoted ? "take the quotes off" : fmt::format("write {:.0f}", number.value);
            return wrong_type(node, path, "an integer", allowed, advice);
        }
        const char* begin = node.text.data() + (node.text[0] == '+' ? 1 : 0);
        Integer value = 0;
        const auto [stop, error] = std::from_chars(begin, node.text.data() + node.text.size(), value);
        if (error == std::errc::result_out_of_range)
            return add(kValue, node, path,
                       fmt::format("{} does not fit in 64 bits; allowed: {}", printable(node.text), allowed));
        if (error != std::errc() || !field.range.contains(static_cast<double>(value)))  // a sign where there is none to have
            return add(kValue, node, path, fmt::format("{} is out of range; allowed: {}", node.text, allowed));
        target = value;
    }

    void read(const Node& node, const std::string& path, const Field& field, double& target) {
        const std::string allowed = allowed_numbers(field);
        const Number number = parse_number(node.text);
        if (node.kind != Node::Kind::Plain || !number.valid)
            return wrong_type(node, path, "a number", allowed,
                              node.kind == Node::Kind::Quoted && number.valid ? "take the quotes off" : "");
        if (!fits_float(number.value)) {
            const bool words = node.text.find_first_of("iInN") != std::string::npos;
            if (words) return wrong_type(node, path, "a finite number", allowed);
            return add(kValue, node, path,
                       fmt::format("{} does not fit in 32-bit floating point; allowed: {}", printable(node.text), allowed));
        }
        if (!field.range.contains(number.value) || !field.range.contains(static_cast<double>(static_cast<float>(number.value))))
            return add(kValue, node, path, fmt::format("{} is out of range; allowed: {}", printable(node.text), allowed));
        target = number.value;
    }

    void read(const Node& node, const std::string& path, const Field&, bool& target) {
        if (node.kind != Node::Kind::Plain || (node.text != "true" && node.text != "false"))
            return wrong_type(node, path, "true or false", "");
        target = node.text == "true";
    }

    void read(const Node& node, const std::string& path, const Field& field, std::string& target) {
        const std::string allowed = joined(field.choices);
        if (node.kind != Node::Kind::Plain && node.kind != Node::Kind::Quoted) return wrong_type(node, path, "a word", allowed);
        const bool known = std::find(field.choices.begin(), field.choices.end(), node.text) != field.choices.end();
        if (!field.choices.empty() && !known) {
            const std::string near = nearest_word(node.text, field.choices);
            return add(kValue, node, path,
                       fmt::format("unknown value '{}'; allowed: {}{}", printable(node.text), allowed,
                                   near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
        }
        target = node.text;
    }

    void read(const Node& node, const std::string& path, const Field&, std::filesystem::path& target) {
        if (node.kind != Node::Kind::Plain && node.kind != Node::Kind::Quoted) return wrong_type(node, path, "a path", "");
        if (node.text.empty()) return add(kValue, node, path, "is empty; write a path");
        const std::filesystem::path file = node.from_override() ? "" : node.origin;
        target = (std::filesystem::current_path() / file.parent_path() / node.text).lexically_normal();
    }

    template <class Value>
    void read(const Node& node, const std::string& path, const Field& field, std::vector<Value>& target) {
        const char* const wanted = std::is_same_v<Value, double> ? "a list of numbers" : "a list of words";
        const std::string advice = node.kind == Node::Kind::Plain ? fmt::format("write [{}]", printable(node.text)) : "";
        if (node.kind != Node::Kind::List) return wrong_type(node, path, wanted, field.range.text(), advice);
        target.resize(node.children.size());
        for (std::size_t i = 0; i < target.size(); ++i)
            read(node.children[i], fmt::format("{}[{}]", path, i), field, target[i]);
    }

    void read(const Node& node, const std::string& path, const Field&, clients::LayerList& target) {
        read_layers(node, path, target,
                    {[this](const Node& at, const auto&... mistake) { add(kValue, at, mistake...); },
                     [this](const auto&... section) { read_section(section...); }});
    }

    template <class Value>
    void read(const Node& node, const std::string& path, const Field& field, std::optional<Value>& target) {
        target.reset();
        if (!field.empty_word.empty() && node.kind == Node::Kind::Plain && node.text == field.empty_word) return;
        Value value{};
        read(node, path, field, value);
        target = value;
    }

    std::vector<Level> levels_;
    std::set<std::string> all_paths_;
    std::vector<Unknown> unknown_;
    std::vector<Problem> problems_;
    std::vector<std::string> meant_;  // what unknown keys were probably to be
};

}  // namespace

std::string found(const Node& node) {
    switch (node.kind) {
        case Node::Kind::Null:
            return "nothing";
        case Node::Kind::Plain:
            return fmt::format("'{}'", printable(node.text));
        case Node::Kind::Quoted:
            return fmt::format("the string \"{}\"", printable(node.text));
        case Node::Kind::List:
            return "a list";
        case Node::Kind::Map:
            break;
    }
    return "a map";
}

void read_described(const Node& root, const std::function<void(Visitor&)>& description) {
    Reader reader(root);
    description(reader);
    reader.finish();
}

}  // namespace fedhive::sim
