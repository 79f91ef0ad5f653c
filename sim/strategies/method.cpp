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

}  // namespace

const char* kept_as(const Method& method) { return method.in_python() ? kMethodSource : kMethodBox; }

std::filesystem::path kept_method(const std::filesystem::path& folder) {
    return folder / (std::filesystem::exists(folder / kMethodBox) ? kMethodBox : kMethodSource);
}

MethodFormulas Method::with(const Values& values) const {
    MethodFormulas complete = formulas;
    for (const auto& [key, value] : numbers_of(keys, values)) complete.keys[key] = value;
    for (MethodMemory& memory : complete.memories)
        if (const auto found = first.find(memory.name); found != first.end())
            memory.first = value_of(found->second, complete.keys);
    return complete;
}

bool Method::trains_alone() const {
    const bool visit_keeps = visit != nullptr && !(visit->memory.empty() && client.memories.empty());
    return visit_keeps || formulas.trains_alone();
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
    method.client = {.name = kFormula, .summary = "the formulas of strategy.file", .keys = {}};
    take_needs(method.client, method.formulas, "strategy.file");
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
