#include "aggregation/formulas/method_formulas.h"

#include "aggregation/base/error.h"
#include "aggregation/formulas/class_tables.h"
#include "aggregation/formulas/client_numbers.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

namespace fedhive::aggregation::formulas {

namespace {

void add(Names& names, Shape shape, std::initializer_list<const char*> list) {
    for (const char* name : list) names.emplace(name, shape);
}

bool is_own_number(const MethodMemory& memory) { return memory.is_number() && memory.owner == MemoryOwner::Client; }

void add_root(Scope& scope) {
    add(scope.given, Shape::Cohort, {kDotRoot, kCosRoot});
    add(scope.given, Shape::Number, {kRootNorm});
}

/// A client reads it, beside what its own visit makes.
bool is_at_client(const MethodMemory& memory) {
    return memory.owner == MemoryOwner::Client || (memory.owner == MemoryOwner::Server && memory.down);
}

std::string_view word_of_owner(MemoryOwner owner) {
    return owner == MemoryOwner::Server ? "server" : owner == MemoryOwner::Client ? "client" : "visit";
}

MethodMemory memory_of(std::istringstream& words) {
    MethodMemory memory;
    std::string owner, first;
    words >> memory.name >> owner >> memory.down >> memory.up >> memory.begins_as_model >> first;
    FEDHIVE_CHECK(!words.fail(), "a memory of a method");
    memory.owner = owner == "server" ? MemoryOwner::Server : owner == "client" ? MemoryOwner::Client : MemoryOwner::Visit;
    memory.first = std::strtod(first.c_str(), nullptr);
    for (std::string word; words >> word;) {  // "drawn", or a shape
        const std::optional<MemoryShape> shape = shape_named(word);
        FEDHIVE_CHECK(shape.has_value() || word == "drawn", "a memory of shape '{}'", word);
        if (shape) memory.shape = *shape;
        memory.drawn = memory.drawn || word == "drawn";
    }
    return memory;
}

}  // namespace

std::string further_name(std::size_t index) { return fmt::format("by_{}", index + 2); }

bool MethodFormulas::sets(Place place, std::string_view name) const {
    const auto found = lines.find(place);
    if (found == lines.end()) return false;
    return std::any_of(found->second.begin(), found->second.end(), [&](const std::string& line) {
        const std::string_view left = std::string_view(line).substr(0, line.find('='));
        const std::size_t first = left.find_first_not_of(' '), last = left.find_last_not_of(' ');
        return first != std::string_view::npos && left.substr(first, last - first + 1) == name;
    });
}

std::size_t MethodFormulas::num_further() const {
    std::size_t count = 0;
    while (count < kMostFurther && sets(Place::Cohort, further_name(count))) ++count;
    return count;
}

bool MethodFormulas::reads_answers(Place place, const OtherAnswers& other) const {
    if (!has(place)) return false;
    const Formulas formulas = parsed(place);
    return formulas.reads(other.name + ".logits") || formulas.reads(other.name + ".z");
}

std::uint64_t MethodFormulas::measure_passes() const {
    if (!has(Place::Measure)) return 0;
    return 1 + static_cast<std::uint64_t>(std::ranges::count_if(
                   also_at, [&](const OtherAnswers& other) { return reads_answers(Place::Measure, other); }));
}

Shape MethodMemory::value_shape() const { return formulas::value_shape(shape); }

MemorySpec MethodMemory::spec(bool mixed) const {
    const bool client = owner == MemoryOwner::Client;
    return {.name = name,
            .owner = owner,
            .shape = shape,
            .first = begins_as_model && client ? FirstValue::SentModel
                     : drawn                   ? FirstValue::Drawn
                     : is_number()             ? FirstValue::Number
                                               : FirstValue::Zero,
            .down = down,
            .up = up,
            .change = !client ? MemoryChange::Nothing
                      : mixed ? MemoryChange::Mixed
                              : MemoryChange::Set,
            .start = static_cast<float>(first)};
}

/// The numbers that a place's formulas give beside the weights.
void MethodFormulas::add_numbers_of(Place place, Scope& scope) const {
    for (const Target& target : parsed(place).targets)
        if (target.shape == Shape::Number) scope.given.emplace(target.name, Shape::Number);
}

void MethodFormulas::add_server_numbers(Scope& scope) const {
    for (const MethodMemory& memory : memories)
        if (memory.is_number() && memory.owner == MemoryOwner::Server) scope.given.emplace(memory.name, Shape::Number);
}

Scope MethodFormulas::scope(Place place) const {
    Scope scope;
    for (const auto& [name, value] : keys) scope.given.emplace(name, Shape::Number);
    if (place == Place::Cohort || place == Place::Peers) {
        add(scope.given, Shape::Cohort, {"k.n", "k.steps", "k.loss", "k.norm", "k.sent_loss"});
        if (place == Place::Cohort) add_root(scope);
        if (place == Place::Peers) add(scope.given, Shape::Cohort, {"k.me", "k.id", kTheirLoss.data()});
        for (const std::string& report : reports) scope.given.emplace("k." + report, Shape::Cohort);
        add(scope.given, Shape::Number, {"round", "clients", "received"});
        add_server_numbers(scope);
        scope.targets.emplace("weight", Shape::Cohort);
        for (std::size_t i = 0; place == Place::Cohort && i < kMostFurther; ++i)
            scope.targets.emplace(further_name(i), Shape::Cohort);
        if (place == Place::Cohort) ClientNumbers(of_clients).add_to(scope);
        scope.numbers = scope.products = true;
        return scope;
    }
    if (place == Place::Server) {
        add(scope.given, Shape::Vector, {"w", "u"});
        add(scope.given, Shape::Number, {"round", "clients", "received"});
        scope.targets.emplace("w", Shape::Vector);
        for (const MethodMemory& memory : memories) {
            if (memory.owner != MemoryOwner::Server && !memory.up) continue;
            scope.given.emplace(memory.name, memory.value_shape());
            if (memory.owner == MemoryOwner::Server) scope.targets.emplace(memory.name, memory.value_shape());
        }
        for (std::size_t i = 0; i < num_further(); ++i) {
            scope.given.emplace(further_name(i) + ".u", Shape::Vector);
            for (const MethodMemory& memory : memories)
                if (memory.up) scope.given.emplace(further_name(i) + "." + memory.name, memory.value_shape());
        }
        if (has(Place::Cohort)) add_numbers_of(Place::Cohort, scope);
        return scope;
    }
    if (place == Place::Mix) {
        add(scope.given, Shape::Vector, {"w_t", "u"});
        add(scope.given, Shape::Number, {"round", "clients", "received"});
        for (const MethodMemory& memory : memories) {
            if (memory.is_by_class() || (memory.owner != MemoryOwner::Client && !memory.up)) continue;
            scope.given.emplace(memory.name, memory.value_shape());
            if (memory.owner == MemoryOwner::Client) scope.targets.emplace(memory.name, memory.value_shape());
        }
        if (has(Place::Peers)) add_numbers_of(Place::Peers, scope);
        return scope;
    }
    add(scope.given, Shape::Number, {"lr", "round", "n"});
    if (place == Place::Loss || place == Place::Measure || place == Place::Answer) {
        if (place == Place::Loss) add(scope.given, Shape::Number, {"step", "steps"});
        add(scope.given, Shape::Classes, {"logits"});
        if (place != Place::Answer) add(scope.given, Shape::Classes, {"counts"});
        add(scope.given, Shape::Features, {"z"});
        if (place != Place::Answer) add(scope.given, Shape::Row, {"y"});
        for (const OtherAnswers& other : also_at) {
            scope.given.emplace(other.name + ".logits", Shape::Classes);
            scope.given.emplace(other.name + ".z", Shape::Features);
        }
        for (const MethodMemory& memory : memories)
            if ((memory.is_number() || (memory.is_by_class() && place != Place::Answer)) && is_at_client(memory))
                scope.given.emplace(memory.name, memory.value_shape());
        if (place == Place::Loss) scope.targets.emplace("loss", Shape::Row);
        if (place == Place::Answer) scope.targets.emplace("answer", Shape::Classes);
        for (const MethodMemory& memory : memories)
            if (place == Place::Measure && (memory.is_by_class() ? memory.up : is_own_number(memory)))
                scope.targets.emplace(memory.name, summand_shape(memory.shape));
        scope.rows = true;
        scope.batch = place == Place::Loss;
        return scope;
    }
    add(scope.given, Shape::Vector, {"w_t", "local"});
    if (place != Place::Judge) {
        add(scope.given, Shape::Vector, {"g_t"});
        for (const LossAt& loss : losses_at) scope.given.emplace(loss.name, Shape::Number);
    }
    const bool in_steps = place == Place::Second || place == Place::Gradient || place == Place::After;
    for (const MethodMemory& memory : memories) {
        const bool of_visit = changes_in_steps(memory) && (in_steps || place == Place::End);
        const bool measured = place == Place::End && sets(Place::Measure, memory.name);
        if (memory.is_by_class() && place != Place::End) continue;
        if (is_at_client(memory) || of_visit || measured) scope.given.emplace(memory.name, memory.value_shape());
    }
    if (place == Place::Start || place == Place::Judge) {
        scope.targets.emplace("w", Shape::Vector);
    } else if (in_steps) {
        add(scope.given, Shape::Vector, {"w", "w_0"});
        add(scope.given, Shape::Number, {"step", "steps"});
        if (place != Place::After) add(scope.given, Shape::Vector, {"g"});
        scope.targets.emplace(place == Place::Second ? "w_2" : place == Place::After ? "w" : "g", Shape::Vector);
        if (place == Place::Second) return scope;
        if (has(Place::Second) && place == Place::Gradient) add(scope.given, Shape::Vector, {"g_2"});
        for (const MethodMemory& memory : memories)
            if (memory.owner != MemoryOwner::Server && memory.is_model()) scope.targets.emplace(memory.name, Shape::Vector);
    } else {
        add(scope.given, Shape::Vector, {"w", "w_0", "u"});
        add(scope.given, Shape::Number, {"steps", "loss"});
        for (const MethodMemory& memory : memories)
            if ((memory.owner == MemoryOwner::Client || memory.up) && !sets(Place::Measure, memory.name))
                scope.targets.emplace(memory.name, memory.value_shape());
        if (any_by_class()) add(scope.given, Shape::Classes, {"counts"});
        for (const std::string& report : reports) scope.targets.emplace(report, Shape::Number);
    }
    return scope;
}

Formulas MethodFormulas::parsed(Place place) const {
    const auto found = lines.find(place);
    return parse(found != lines.end() ? found->second : Lines(), scope(place));
}

Formulas MethodFormulas::of_vectors(Place place) const {
    return any_by_class() ? part_of(parsed(place), Shape::Vector) : parsed(place);
}

std::string MethodFormulas::text() const {
    std::string text;
    for (const auto& [name, value] : keys) text += fmt::format("key {} {:a}\n", name, value);
    for (const MethodMemory& memory : memories)
        text += fmt::format("memory {} {} {:d} {:d} {:d} {:a}{}{}{}\n", memory.name, word_of_owner(memory.owner), memory.down,
                            memory.up, memory.begins_as_model, memory.first, memory.drawn ? " drawn" : "",
                            memory.is_model() ? "" : " ", word_of_shape(memory.shape));
    for (const RememberedNumber& number : of_clients)
        text += fmt::format("of_clients {} {:d} {:a}\n", number.name, number.on_simplex, number.first);
    for (const std::string& report : reports) text += fmt::format("report {}\n", report);
    if (second_on_next) text += "second_on_next\n";
    if (!products_of.empty()) text += fmt::format("products_of {}\n", products_of);
    for (const LossAt& loss : losses_at) text += fmt::format("loss_at {} {}\n", loss.name, loss.at);
    for (const OtherAnswers& other : also_at) text += fmt::format("at {} {}\n", other.name, other.at);
    for (const auto& [place, list] : lines)
        for (const std::string& line : list) text += fmt::format("{} {}\n", word_of(place), line);
    return text;
}

MethodFormulas MethodFormulas::of(std::string_view text) {
    MethodFormulas method;
    std::istringstream all{std::string(text)};
    for (std::string line; std::getline(all, line);) {
        std::istringstream words(line);
        std::string kind, name, value;
        words >> kind;
        if (kind == "key") {
            words >> name >> value;
            method.keys[name] = std::strtod(value.c_str(), nullptr);
        } else if (kind == "memory") {
            method.memories.push_back(memory_of(words));
        } else if (kind == "of_clients") {
            RememberedNumber number;
            words >> number.name >> number.on_simplex >> value;
            FEDHIVE_CHECK(!words.fail(), "a number of each client");
            number.first = std::strtod(value.c_str(), nullptr);
            method.of_clients.push_back(std::move(number));
        } else if (kind == "report") {
            words >> name;
            method.reports.push_back(name);
        } else if (kind == "second_on_next") {
            method.second_on_next = true;
        } else if (kind == "products_of") {
            words >> method.products_of;
        } else if (kind == "loss_at") {
            words >> name >> value;
            method.losses_at.push_back({name, value});
        } else if (kind == "at") {
            words >> name >> value;
            method.also_at.push_back({name, value});
        } else {
            const std::optional<Place> place = from_word<Place>(kind);
            FEDHIVE_CHECK(place.has_value() && line.size() > kind.size(), "a method's line '{}'", line);
            method.lines[*place].push_back(line.substr(kind.size() + 1));
        }
    }
    return method;
}

std::vector<ElementRange> ranges_of(const Layout& layout, const std::vector<std::string>& without) {
    std::vector<ElementRange> ranges;
    for (const LayoutEntry& entry : layout.entries()) {
        if (entry.kind != TensorKind::Parameter || entry.size == 0) continue;
        if (std::find(without.begin(), without.end(), entry.name) != without.end()) continue;
        if (!ranges.empty() && ranges.back().first + ranges.back().width == entry.offset)
            ranges.back().width += entry.size;
        else
            ranges.push_back({entry.offset, entry.size});
    }
    return ranges;
}

}  // namespace fedhive::aggregation::formulas
