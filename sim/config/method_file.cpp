#include "sim/config/method_file.h"

#include "aggregation/base/error.h"
#include "aggregation/base/input_file.h"
#include "aggregation/formulas/class_tables.h"
#include "sim/config/method_declarations.h"
#include "sim/config/method_trace.h"
#include "sim/config/python_part.h"
#include "sim/config/scalars.h"
#include "sim/config/suggest.h"
#include "sim/config/tree.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

namespace fedhive::sim {

namespace fs = std::filesystem;
using aggregation::MemoryOwner;
using aggregation::formulas::FormulaError;
using aggregation::formulas::Lines;
using aggregation::formulas::LossAt;
using aggregation::formulas::MethodMemory;
using aggregation::formulas::OtherAnswers;
using aggregation::formulas::Place;

namespace {

constexpr std::array kParts = {"version", "method",    "doc",         "weighting", "keys",         "memories",     "reports",
                               "also_at", "losses_at", "start",       "loss",      "second",       "second_batch", "gradient",
                               "end",     "cohort",    "server",      "peers",     "mix",          "judge",        "measure",
                               "answer",  "after",     "products_of", "python",    "source_sha256"};
constexpr const char* kServerRate = "server_lr";

Lines lines_of(const YamlNode& node) {
    Lines lines;
    if (node.kind == YamlNode::Kind::List)
        for (const YamlNode& line : node.children) lines.push_back(line.text);
    else
        lines.push_back(node.text);
    if (node.kind == YamlNode::Kind::Map || node.kind == YamlNode::Kind::Null || lines.empty())
        refuse(node, fmt::format("{}: expected a formula or a list of formulas", node.key));
    return lines;
}

/// The name that the only formula of a place sets.
const char* target_of(Place place) {
    switch (place) {
        case Place::Gradient:
            return "g";
        case Place::Loss:
            return "loss";
        case Place::Answer:
            return "answer";
        case Place::Second:
            return "w_2";
        case Place::Peers:
            return "weight";
        case Place::Start:
        case Place::After:
        case Place::Judge:
            return "w";
        default:
            return "";
    }
}

/// A formula alone may leave out "g = " and the like.
Lines completed_lines(Place place, Lines lines) {
    const std::string target = target_of(place);
    if (target.empty() || lines.size() != 1) return lines;
    const std::size_t sign = lines[0].find('=');
    const bool is_set =
        sign != std::string::npos && lines[0].find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789 ") == sign;
    if (!is_set) lines[0] = target + " = " + lines[0];
    return lines;
}

void check_formulas(Method& method, const YamlNode& root) {
    Place place{};
    try {
        settle(method, place);
    } catch (const FormulaError& error) {
        const YamlNode* node = root.find(word_of(place));
        const YamlNode* line = node != nullptr && error.line < node->children.size() ? &node->children[error.line] : node;
        const std::string near = error.unknown.empty() ? "" : nearest_word(error.unknown, error.known);
        refuse(line != nullptr ? *line : root, fmt::format("{}: {}{}", word_of(place), error.what(),
                                                           near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
    }
}

/// Every memory is set and read; every report is given.
void check_use(const Method& method, const YamlNode& root) {
    const auto sets = [&](Place place, const std::string& name) { return method.formulas.sets(place, name); };
    const auto is_read = [&](const std::string& name) {
        if (method.formulas.products_of == name) return true;
        if (std::ranges::find(method.formulas.also_at, name, &OtherAnswers::at) != method.formulas.also_at.end()) return true;
        if (std::ranges::find(method.formulas.losses_at, name, &LossAt::at) != method.formulas.losses_at.end()) return true;
        return std::any_of(method.formulas.lines.begin(), method.formulas.lines.end(),
                           [&](const auto& of_place) { return method.formulas.parsed(of_place.first).reads(name); });
    };
    for (const MethodMemory& memory : method.formulas.memories) {
        const bool is_mixed = method.formulas.is_mixed(memory);
        if (is_mixed && (sets(Place::End, memory.name) || method.formulas.changes_in_steps(memory)))
            refuse(*root.find("mix"),
                   fmt::format("memory '{}' is set by `mix` and by its client's visit; only one of them sets it", memory.name));
        const Place place = memory.owner == MemoryOwner::Server                ? Place::Server
                            : memory.owner == MemoryOwner::Visit && !memory.up ? Place::Gradient
                                                                               : Place::End;
        const bool by_visit = method.visit != nullptr;  // which sets what comes up, and reads what goes down
        if (!is_mixed && !(by_visit && memory.up) && !sets(place, memory.name) && !method.formulas.changes_in_steps(memory) &&
            !sets(Place::Measure, memory.name))
            refuse(*root.find("memories"), fmt::format("memory '{}' is never set; `{}` must have a formula '{} = …'",
                                                       memory.name, word_of(place), memory.name));
        if (!(by_visit && memory.down) && !is_read(memory.name))
            refuse(*root.find("memories"), fmt::format("memory '{}' is never read; read it or remove it", memory.name));
    }
    for (const aggregation::RememberedNumber& number : method.formulas.of_clients) {
        const std::string name = "k." + number.name;
        if (!sets(Place::Cohort, name))
            refuse(*root.find("memories"),
                   fmt::format("memory '{}' is never set; `cohort` must have a formula '{} = …'", number.name, name));
        if (!is_read(name))
            refuse(*root.find("memories"),
                   fmt::format("memory '{}' is never read as {}; read it or remove it", number.name, name));
    }
    for (const LossAt& loss : method.formulas.losses_at)
        if (!is_read(loss.name))
            refuse(*root.find("losses_at"),
                   fmt::format("losses_at: '{}', the loss at {}, is never read; read it or remove it", loss.name, loss.at));
    for (const std::string& report : method.formulas.reports)
        if (!sets(Place::End, report) && method.visit == nullptr)
            refuse(*root.find("reports"),
                   fmt::format("report '{}' is never given; `end` must have a formula '{} = …'", report, report));
}

/// Refuses a place whose formulas do not set its target, and a second gradient that nothing reads.
void check_places(const Method& method, const YamlNode& root) {
    for (const auto& [place, lines] : method.formulas.lines)
        if (const std::string target = target_of(place); !target.empty() && !method.formulas.sets(place, target))
            refuse(*root.find(word_of(place)), fmt::format("{0}: no formula '{1} = …'", word_of(place), target));
    for (const auto& [one, other] : {std::pair(Place::Peers, Place::Mix), std::pair(Place::Mix, Place::Peers)})
        if (method.has(one) && !method.has(other))
            refuse(*root.find(word_of(one)),
                   fmt::format("{0}: needs `{1}`, which is missing; `peers` gives the weights of u in `mix`", word_of(one),
                               word_of(other)));
    for (std::size_t i = 0; i + 1 < aggregation::formulas::kMostFurther; ++i) {
        const std::string one = aggregation::formulas::further_name(i), next = aggregation::formulas::further_name(i + 1);
        if (method.formulas.sets(Place::Cohort, next) && !method.formulas.sets(Place::Cohort, one))
            refuse(*root.find("cohort"),
                   fmt::format("cohort: sets '{}', but not '{}'; further weights are numbered from by_2", next, one));
    }
    const YamlNode* second = root.find("second");
    if (second != nullptr && !(method.has(Place::Gradient) && method.formulas.parsed(Place::Gradient).reads("g_2")))
        refuse(*second, "second: gives the gradient g_2, but `gradient` does not read it");
    const YamlNode* batch = root.find("second_batch");
    if (batch == nullptr) return;
    if (second == nullptr) refuse(*batch, "second_batch: needs `second`, which is missing");
    if (batch->text != "same" && batch->text != "next")
        refuse(*batch, fmt::format("second_batch: '{}'; allowed: same, next", batch->text));
}

/// `also_at: {sent: w_t}`, `losses_at: {F: m}`: names, and vectors that a client reads, of `given` or memories.
template <typename Named>
std::vector<Named> named_at(const YamlNode& map, const Method& method, std::vector<std::string> given) {
    check_kind(map, YamlNode::Kind::Map, "a map {name: vector}");
    for (const MethodMemory& memory : method.formulas.memories)
        if ((memory.owner == MemoryOwner::Client || memory.down) && memory.is_model()) given.push_back(memory.name);
    std::vector<Named> all;
    for (const YamlNode& one : map.children) {
        if (!is_name(one.key)) refuse(one, fmt::format("{}: '{}' is not a name", map.key, one.key));
        if (std::ranges::find(given, one.text) == given.end())
            refuse(one, fmt::format("{}: {}: '{}' is not a vector of the client; allowed: {}", map.key, one.key, one.text,
                                    fmt::join(given, ", ")));
        all.push_back({one.key, one.text});
    }
    return all;
}

/// Refuses a measure that reads no output of a model.
void check_measure(const Method& method, const YamlNode& root) {
    if (!method.has(Place::Measure)) return;
    const auto parsed = method.formulas.parsed(Place::Measure);
    const bool reads_others = std::ranges::any_of(method.formulas.also_at, [&](const OtherAnswers& other) {
        return method.formulas.reads_answers(Place::Measure, other);
    });
    if (!parsed.reads("logits") && !parsed.reads("z") && !reads_others)
        refuse(*root.find("measure"), "measure: reads neither logits nor z of a model; read one of them");
}

/// Refuses models of `also_at` whose outputs nothing reads.
void check_also_at(const Method& method, const YamlNode& root) {
    constexpr std::array kOfExample{Place::Loss, Place::Measure, Place::Answer};
    const std::vector<OtherAnswers>& also_at = method.formulas.also_at;
    if (!also_at.empty() && std::ranges::none_of(kOfExample, [&](Place place) { return method.has(place); }))
        refuse(*root.find("also_at"), "also_at: needs `loss`, `measure` or `answer`, which are missing");
    for (const OtherAnswers& other : also_at)
        if (std::ranges::none_of(kOfExample, [&](Place place) { return method.formulas.reads_answers(place, other); }))
            refuse(*root.find("also_at"),
                   fmt::format("also_at: '{0}' is never read; formulas of examples can read {0}.logits and {0}.z", other.name));
}

/// Refuses a loss that does not depend on the model.
void check_loss(const Method& method, const YamlNode& root) {
    if (!method.has(Place::Loss)) return;
    const auto parsed = method.formulas.parsed(Place::Loss);
    if (!parsed.reads("logits") && !parsed.reads("z"))
        refuse(*root.find("loss"), "loss: reads neither logits nor z, so it has no gradient; read one of them");
    for (const std::string_view given : kOfExamples)
        if (method.formulas.keys.contains(std::string(given)))
            refuse(*root.find("keys"), fmt::format("key '{}': a loss reads a value of this name; choose another", given));
}

/// Adds the key server_lr if the server reads it.
void add_server_rate(Method& method) {
    const auto found = method.formulas.lines.find(Place::Server);
    if (found == method.formulas.lines.end() || method.formulas.keys.contains(kServerRate)) return;
    const bool reads = std::any_of(found->second.begin(), found->second.end(),
                                   [](const std::string& line) { return line.find(kServerRate) != std::string::npos; });
    if (!reads) return;
    method.keys.push_back(
        {.name = kServerRate, .default_value = 1.0, .range = above(0), .doc = "Server rate per round (η_g)."});
    method.formulas.keys[kServerRate] = 1.0;
}

std::shared_ptr<Method> read_method(const std::string& box, const std::string& origin, const fs::path& file) {
    const YamlNode root = parse_tree(box, origin, "the shortest method has a gradient: `gradient: g`");
    check_kind(root, YamlNode::Kind::Map, "a map");
    check_names(root, kParts);
    auto method = std::make_shared<Method>();
    method->box = box;
    const std::string given_name = word_at(root, "method");
    method->name = given_name.empty() ? file.stem().string() : given_name;
    method->file = file;
    method->doc = word_at(root, "doc");
    if (const YamlNode* weighting = root.find("weighting")) {
        if (weighting->text != "uniform") refuse(*weighting, "weighting: allowed: uniform, or left out");
        method->equal_weights = true;
    }
    std::vector<std::string> names;
    const auto items = [&](const char* part, const auto& take) {
        const YamlNode* list = root.find(part);
        if (list == nullptr) return;
        check_kind(*list, YamlNode::Kind::List, "a list");
        for (const YamlNode& item : list->children) {
            const std::string name = name_in(item, part);
            if (std::find(names.begin(), names.end(), name) != names.end())
                refuse(item, fmt::format("'{}' is declared twice", name));
            names.push_back(name);
            take(item, name);
        }
    };
    items("keys", [&](const YamlNode& item, const std::string& name) {
        const KeySpec key = key_of(item);
        const auto* integer = std::get_if<std::int64_t>(&key.default_value);
        method->formulas.keys[name] = integer != nullptr ? static_cast<double>(*integer) : std::get<double>(key.default_value);
        method->keys.push_back(key);
    });
    items("memories", [&](const YamlNode& item, const std::string&) {
        if (std::optional<aggregation::RememberedNumber> number = number_of_clients(item))
            method->formulas.of_clients.push_back(*std::move(number));
        else
            method->formulas.memories.push_back(memory_of(item, *method));
    });
    items("reports", [&](const YamlNode& item, const std::string& name) {
        method->reports.push_back({name, word_at(item, "doc")});
        method->formulas.reports.push_back(name);
    });
    if (const YamlNode* node = root.find("also_at"))
        method->formulas.also_at = named_at<OtherAnswers>(*node, *method, {"w_t", "w_0"});
    if (const YamlNode* node = root.find("products_of")) {
        std::vector<std::string> up;
        for (const MethodMemory& memory : method->formulas.memories)
            if (memory.up && memory.is_model()) up.push_back(memory.name);
        if (std::ranges::find(up, node->text) == up.end())
            refuse(*node,
                   fmt::format("products_of: '{}' is not a memory of the model's shape with up: true; allowed: {}", node->text,
                               up.empty() ? "none, since none does" : fmt::format("{}", fmt::join(up, ", "))));
        method->formulas.products_of = node->text;
    }
    if (const YamlNode* node = root.find("losses_at")) method->formulas.losses_at = named_at<LossAt>(*node, *method, {"w_t"});
    for (const std::string& word : words_of<Place>())
        if (const YamlNode* node = root.find(word)) {
            const Place place = from_word<Place>(word).value();
            method->formulas.lines[place] = completed_lines(place, lines_of(*node));
        }
    if (const YamlNode* node = root.find("python")) read_python(*node, *method);
    if (!method->formulas.any() && !method->in_python())
        refuse(root, fmt::format("a method has at least one of: {}", fmt::join(words_of<Place>(), ", ")));
    method->formulas.second_on_next = word_at(root, "second_batch") == "next";
    add_server_rate(*method);
    check_formulas(*method, root);
    check_places(*method, root);
    check_use(*method, root);
    check_loss(*method, root);
    check_measure(*method, root);
    check_also_at(*method, root);
    return method;
}

}  // namespace

std::shared_ptr<const Method> load_method(const fs::path& file) {
    static std::map<std::pair<fs::path, std::string>, std::shared_ptr<const Method>> known;  // of file and content
    const std::string content = content_of(file);
    std::shared_ptr<const Method>& method = known[{file, content}];
    if (method != nullptr) return method;
    const std::string ending = file.extension().string();
    std::shared_ptr<Method> read;
    if (ending == ".py")
        read = read_method(traced_method(file), file.string() + " (traced)", file);
    else if (ending == ".yaml" || ending == ".yml" || ending == ".json")
        read = read_method(content, file.string(), file);
    else
        throw ConfigError(fmt::format("{}: expected a .py or .yaml file", file.string()));
    if (read->in_python() && ending != ".py")
        throw ConfigError(
            fmt::format("{}: python: Python runs these functions, which only the .py file has; name that file", file.string()));
    read->source = content;
    complete_python(*read, "strategy.file");
    return method = read;
}

std::shared_ptr<const Method> load_python(const fs::path& given, const std::string& place, const std::string& key) {
    static std::mutex mutex;  // the runs of a sweep are checked side by side
    static std::map<std::pair<fs::path, std::string>, std::shared_ptr<const Method>> known;  // of file, and place and content
    const fs::path file = fs::absolute(given);
    const std::string content = content_of(file);
    const std::scoped_lock lock(mutex);
    std::shared_ptr<const Method>& method = known[{file, place + content}];
    if (method != nullptr) return method;
    const std::shared_ptr<Method> read =
        read_method(python_result("fedhive.method", file, {"--as", place}), file.string() + " (read)", file);
    read->source = content;
    complete_python(*read, key);
    return method = read;
}

std::shared_ptr<const Method> method_of_gradient(const std::string& formula, const std::string& name) {
    auto method = std::make_shared<Method>();
    method->name = name;
    method->formulas.lines[Place::Gradient] = completed_lines(Place::Gradient, {formula});
    Place place{};
    try {
        settle(*method, place);
    } catch (const FormulaError& error) {
        const std::string near = error.unknown.empty() ? "" : nearest_word(error.unknown, error.known);
        throw ConfigError(fmt::format("{}{}", error.what(), near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
    }
    method->box = fmt::format("gradient: \"{}\"\n", formula);  // a formula has no quotes
    return method;
}

}  // namespace fedhive::sim
