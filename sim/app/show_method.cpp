#include "sim/app/show_method.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace fedhive::sim {

using aggregation::MemoryOwner;
using aggregation::formulas::MethodFormulas;
using aggregation::formulas::MethodMemory;
using aggregation::formulas::Place;

namespace {

/// As a round has them.
constexpr std::array kInOrder{Place::Start,   Place::Loss,  Place::Second, Place::Gradient, Place::After,
                              Place::Measure, Place::End,   Place::Cohort, Place::Server,   Place::Peers,
                              Place::Mix,     Place::Judge, Place::Answer};

std::string line(const std::string& what, const std::string& text) { return fmt::format("{:<11} {}\n", what, text); }

/// ", for each class …", of a memory by class.
std::string shape_text(const MethodMemory& memory) {
    using aggregation::MemoryShape;
    if (memory.is_number()) return ", a number";
    if (memory.shape == MemoryShape::Classes) return ", a number for each class";
    if (memory.shape == MemoryShape::ClassesByClasses) return ", logits for each class";
    return memory.shape == MemoryShape::ClassesByFeatures ? ", features for each class" : "";
}

std::string memory_text(const MethodMemory& memory) {
    if (memory.owner == MemoryOwner::Server)
        return fmt::format("{}: at the server{}{}", memory.name, memory.drawn ? ", at first drawn as a model" : "",
                           memory.down ? ", sent down with the model" : "");
    if (memory.owner == MemoryOwner::Client)
        return fmt::format("{}: at each client{}", memory.name,
                           memory.begins_as_model ? ", at first the model that it is sent" : "");
    return fmt::format("{}: of a visit{}{}", memory.name, memory.begins_as_model ? ", at first the model that is sent" : "",
                       memory.up ? ", sent up with the update" : "");
}

/// A visit's memory as the one of a method that it is.
MethodMemory kept_as_method(const KeptMemory& memory) {
    MethodMemory same;
    same.name = memory.name;
    same.owner = MemoryOwner::Client;
    same.begins_as_model = memory.begins_as_model;
    same.shape = memory.shape;
    return same;
}

std::string models(std::size_t count) { return count == 1 ? "1 model" : fmt::format("{} models", count); }

std::string default_of(const KeySpec& key) {
    const auto* integer = std::get_if<std::int64_t>(&key.default_value);
    return integer != nullptr ? fmt::format("{}", *integer) : fmt::format("{}", std::get<double>(key.default_value));
}

/// The formulas of each place.
std::string lines_text(const MethodFormulas& formulas) {
    std::string text;
    for (const Place place : kInOrder) {
        const auto lines = formulas.lines.find(place);
        if (lines == formulas.lines.end()) continue;
        bool repeats = false;
        for (const std::string& formula : lines->second) {
            repeats = repeats && formula != "end";
            text += line(&formula == lines->second.data() ? word_of(place) : "", (repeats ? "  " : "") + formula);
            repeats = repeats || formula.starts_with("repeat ");
        }
    }
    return text;
}

/// The aggregate that a rule makes of its weights.
std::string aggregate_text(const aggregation::AggregatorSpec& rule, const std::vector<std::string>& weights) {
    if (rule.keeps_last) return "u = v + sum_k(scale * (k.u - v)), v the last u; distances are of k.u - v";
    if (rule.build(completed({}, rule.keys))->column_rule() == aggregation::ColumnRule::Sum) return "u = sum_k(scale * k.u)";
    const bool of_share = std::ranges::any_of(weights, [](const std::string& one) { return one.starts_with("share"); });
    return fmt::format("u = sum_k(scale * k.u) / sum_k({})", of_share ? "share" : "scale");
}

std::string remembered_text(const aggregation::RememberedNumber& number) {
    return line("remembers", fmt::format("k.{}: at the server, a number of each client of the run{}", number.name,
                                         number.on_simplex ? ", on the simplex" : ""));
}

}  // namespace

std::string method_text(const Method& method) {
    std::string text = line(method.name, method.doc);
    for (const KeySpec& key : method.keys)
        text += line("key", fmt::format("{}: {}{}  {}", key.name, default_of(key),
                                        key.range.text().empty() ? "" : fmt::format(" ({})", key.range.text()), key.doc));
    std::size_t down = 1, up = 1, tables_down = 0, tables_up = 0, numbers_down = 0;
    for (const MethodMemory& memory : method.formulas.memories) {
        text += line("remembers", memory_text(memory) + shape_text(memory));
        numbers_down += memory.is_number() && memory.down ? 1 : 0;
        if (memory.is_number()) continue;
        if (memory.is_by_class()) {
            tables_down += memory.down ? 1 : 0;
            tables_up += memory.up ? 1 : 0;
            continue;
        }
        down += memory.down ? 1 : 0;
        up += memory.up ? 1 : 0;
    }
    for (const aggregation::RememberedNumber& number : method.formulas.of_clients) text += remembered_text(number);
    if (method.visit != nullptr)
        for (const KeptMemory& memory : method.visit->memory)
            text += line("remembers", memory_text(kept_as_method(memory)) + shape_text(kept_as_method(memory)));
    for (const ReportDoc& report : method.reports) text += line("reports", fmt::format("{}: {}", report.name, report.doc));
    text += line("travels", fmt::format("{} down, {} up for each client (fedavg: 1 and 1){}{}{}", models(down), models(up),
                                        tables_down + tables_up == 0
                                            ? ""
                                            : fmt::format(", {} memories by class down, {} up", tables_down, tables_up),
                                        numbers_down == 0 ? "" : fmt::format(", {} numbers down", numbers_down),
                                        method.reports.empty() ? "" : fmt::format(", {} numbers up", method.reports.size())));
    if (method.formulas.reads_cross_losses())
        text +=
            line("losses", "of the K updates of a round on each client's examples: K - 1 models more down, K passes forward");
    text += line("weights", method.formulas.sets_weights() ? "its own: u is the sum of weight_k u_k"
                            : method.equal_weights         ? "equal, which its server's formulas need"
                                                           : "strategy.weighting");
    if (method.formulas.reads_root())
        text += line("needs", "data.root_examples: the weights read the update of a root client, the server's own");
    if (method.visit != nullptr)
        text += line("visit",
                     fmt::format("Python: {}, a client's whole work, once for each client and round", method.visit->function));
    if (method.rule != nullptr)
        text += line("server",
                     fmt::format("Python: {}, the update of the round of all updates, once a round", method.rule->function));
    if (method.has(Place::Second))
        text += line("gradients",
                     fmt::format("2 in a step, the second on the {} batch", method.formulas.second_on_next ? "next" : "same"));
    text += line("slots", method.trains_alone() ? "one client in each" : "clients may share one");
    for (const aggregation::formulas::OtherAnswers& other : method.formulas.also_at)
        text += line("also at",
                     fmt::format("{0}.logits, {0}.z: of the same batch at {1}, in evaluation mode", other.name, other.at));
    for (const aggregation::formulas::LossAt& loss : method.formulas.losses_at)
        text +=
            line("loss at", fmt::format("{}: of {}, on the client's training examples, before it trains", loss.name, loss.at));
    return text + lines_text(method.formulas);
}

std::string box_text(MethodFormulas formulas, const aggregation::AggregatorSpec& rule) {
    if (rule.lines != nullptr) {
        std::vector<std::string>& cohort = formulas.lines[Place::Cohort];
        cohort = rule.lines();
        cohort.push_back(aggregate_text(rule, cohort));
    }
    std::string text;
    for (const aggregation::RememberedNumber& number : rule.remembers) text += remembered_text(number);
    for (const MethodMemory& memory : formulas.memories) text += line("remembers", memory_text(memory) + shape_text(memory));
    return text + lines_text(formulas);
}

}  // namespace fedhive::sim
