#include "sim/strategies/method.h"

#include "aggregation/base/sha256.h"
#include "aggregation/formulas/class_tables.h"
#include "aggregation/formulas/simplified.h"

#include <algorithm>

namespace fedhive::sim {

using aggregation::MemoryOwner;
using aggregation::formulas::ClassFormulas;
using aggregation::formulas::Executor;
using aggregation::formulas::MethodFormulas;
using aggregation::formulas::MethodMemory;
using aggregation::formulas::Place;

namespace {

bool place_reads(const MethodFormulas& formulas, Place place, std::string_view name) {
    return formulas.has(place) && formulas.parsed(place).reads(name);
}

double value_of(const std::string& formula, const std::map<std::string, double>& keys) {
    aggregation::formulas::Scope scope;
    for (const auto& [name, value] : keys) scope.given.emplace(name, aggregation::formulas::Shape::Number);
    scope.numbers = true;
    const std::vector<std::string> lines{"first_value = " + formula};
    Executor executor(aggregation::formulas::parse(lines, scope));
    for (const auto& [name, value] : keys) executor.set(name, value);
    executor.run({});
    return executor.number("first_value");
}

LocalRuleSpec client_of(const Method& method) {
    LocalRuleSpec spec{.name = kFormula, .summary = "the formulas of strategy.file", .keys = {}};
    spec.whole_gradient = method.has(Place::Gradient) || method.has(Place::After);
    spec.client_term = method.formulas.changes_visits();
    for (const MethodMemory& memory : method.formulas.memories) {
        if (!memory.is_declared()) continue;
        spec.memories.push_back(memory.spec(method.formulas.is_mixed(memory)));
        if (memory.owner == MemoryOwner::Visit) spec.sends_beside = "memory " + memory.name + " (strategy.file)";
    }
    return spec;
}

}  // namespace

const char* kept_as(const Method& method) { return method.in_python() ? kMethodSource : kMethodBox; }

std::filesystem::path kept_method(const std::filesystem::path& folder) {
    return folder / (std::filesystem::exists(folder / kMethodBox) ? kMethodBox : kMethodSource);
}

MethodFormulas Method::with(const Values& values) const {
    MethodFormulas complete = formulas;
    for (const KeySpec& key : keys) {
        const bool integer = std::holds_alternative<std::int64_t>(key.default_value);
        complete.keys[key.name] = integer ? static_cast<double>(values.integer(key.name)) : values.number(key.name);
    }
    for (MethodMemory& memory : complete.memories)
        if (const auto found = first.find(memory.name); found != first.end())
            memory.first = value_of(found->second, complete.keys);
    return complete;
}

bool Method::trains_alone() const {
    if (reads_mean_gradient() || !formulas.losses_at.empty()) return true;
    if (visit != nullptr && !(visit->memory.empty() && client.memories.empty())) return true;
    if (has(Place::Start) || has(Place::Second) || has(Place::End) || has(Place::Cohort) || has(Place::Mix) ||
        has(Place::Measure) || has(Place::After) || client.client_state())
        return true;
    if (changes_memories_in_steps()) return true;
    return has(Place::Gradient) && (place_reads(formulas, Place::Gradient, "n") || formulas.parsed(Place::Gradient).reduces());
}

bool Method::changes_memories_in_steps() const {
    return std::any_of(formulas.memories.begin(), formulas.memories.end(),
                       [&](const MethodMemory& memory) { return formulas.changes_in_steps(memory); });
}

bool Method::reads_sent_loss() const {
    return place_reads(formulas, Place::Cohort, "k.sent_loss") || place_reads(formulas, Place::Peers, "k.sent_loss");
}

bool Method::takes_products() const {
    const auto takes = [&](Place place) { return has(place) && formulas.parsed(place).takes_products(); };
    return takes(Place::Cohort) || takes(Place::Peers);
}

bool Method::reads(std::string_view value) const {
    return std::any_of(formulas.lines.begin(), formulas.lines.end(),
                       [&](const auto& of_place) { return formulas.parsed(of_place.first).reads(value); });
}

bool Method::reads_mean_gradient() const { return reads("g_t"); }

bool Method::sets_weights() const {
    if (!has(Place::Cohort)) return false;
    const std::vector<aggregation::formulas::Target> targets = formulas.parsed(Place::Cohort).targets;
    return std::any_of(targets.begin(), targets.end(), [](const auto& target) { return target.name == "weight"; });
}

void settle(Method& method, Place& place) {
    for (const auto& [at, lines] : method.formulas.lines) {
        place = at;
        if (at == Place::Loss || at == Place::Measure || at == Place::Answer) {
            simplified(method.formulas.parsed(at), method.formulas.keys);
            continue;
        }
        compile(method.formulas.of_vectors(at));
        ClassFormulas(method.formulas, at, {});
    }
    method.client = client_of(method);
    const std::string text = method.formulas.text();
    Sha256 hash;
    hash.update(text.data(), text.size());
    for (const auto& [name, value] : method.first) {
        value_of(value, method.formulas.keys);
        hash.update(value.data(), value.size());
    }
    method.sha256 = hash.hex_digest();
}

}  // namespace fedhive::sim
