#include "sim/app/compare_method.h"

#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "aggregation/formulas/class_tables.h"
#include "aggregation/formulas/executor.h"
#include "aggregation/math/inner_products.h"
#include "sim/config/method_trace.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <string_view>
#include <vector>

namespace fedhive::sim {

using aggregation::ConstParamSpan;
using aggregation::InnerProducts;
using aggregation::MemoryOwner;
using aggregation::ParamSpan;
using aggregation::formulas::Executor;
using aggregation::formulas::MethodFormulas;
using aggregation::formulas::MethodMemory;
using aggregation::formulas::Numbers;
using aggregation::formulas::Place;
using nlohmann::json;

namespace {

constexpr std::size_t kElements = 37, kUpdates = 5;
constexpr double kEqual = 1e-5;
constexpr aggregation::formulas::ClassSizes kSizes{.classes = 5, .features = 7};
using Vector = std::vector<float>;

/// Values of names: vectors [kElements] or by class, numbers, one number or one vector for each update.
struct Drawn {
    std::map<std::string, std::size_t> rows{};  // of tables
    std::map<std::string, Vector> vectors;
    std::map<std::string, Numbers> numbers;
    std::map<std::string, std::vector<Vector>> of_updates;
};

class Draws {
public:
    /// A multiple of 1/32 that is not 0, of that sign or of any.
    double number(bool positive) {
        const double size = static_cast<double>(1 + stream_.below(64)) / 32.0;
        return positive || stream_.below(2) == 1 ? size : -size;
    }
    double count(std::uint64_t least, std::uint64_t most) {
        return static_cast<double>(least + stream_.below(most - least + 1));
    }
    /// Of a memory by class numbers of classes are 0 or 1.
    Vector of_memory(const MethodMemory& memory, bool positive) {
        if (!memory.is_by_class()) return vector(positive);
        Vector values = vector(positive, kSizes.floats_of(memory.value_shape()));
        if (memory.shape == aggregation::MemoryShape::Classes)
            for (float& value : values) value = static_cast<float>(stream_.below(2));
        return values;
    }
    Vector vector(bool positive = false, std::size_t elements = kElements) {
        Vector values(elements);
        for (float& value : values) value = static_cast<float>(number(positive));
        return values;
    }
    template <typename One>
    Numbers each(const One& one) {
        Numbers values(kUpdates);
        for (double& value : values) value = one();
        return values;
    }

private:
    Stream stream_{1, Purpose::TrainData};
};

std::map<std::string, std::size_t> rows_of(const MethodFormulas& method) {
    std::map<std::string, std::size_t> rows;
    for (const MethodMemory& memory : method.memories)
        if (is_table(memory.value_shape())) rows[memory.name] = kSizes.classes;
    return rows;
}

double norm_of(const Vector& vector) {
    double squares = 0.0;
    for (const float value : vector) squares += static_cast<double>(value) * static_cast<double>(value);
    return std::sqrt(squares);
}

/// Draws values for the names that the functions of a client read. Memories of the server are positive, since a formula may take their root.
Drawn of_client(const MethodFormulas& method, Draws& draws) {
    Drawn drawn;
    for (const char* name : {"g", "g_2", "w", "w_t", "w_0", "g_t"}) drawn.vectors[name] = draws.vector();
    drawn.vectors["u"] = drawn.vectors["w"];
    for (std::size_t i = 0; i < kElements; ++i) drawn.vectors["u"][i] -= drawn.vectors["w_t"][i];
    for (std::size_t i = 0; i < kElements; ++i) drawn.vectors["local"].push_back(i % 3 == 0 ? 1.0F : 0.0F);
    for (const MethodMemory& memory : method.memories) {
        const bool positive = memory.owner == MemoryOwner::Server;
        if (memory.is_number())
            drawn.numbers[memory.name] = {draws.number(positive)};
        else
            drawn.vectors[memory.name] = draws.of_memory(memory, positive);
    }
    for (const auto& loss : method.losses_at) drawn.numbers[loss.name] = {draws.number(true)};
    drawn.numbers.merge(std::map<std::string, Numbers>{
        {"lr", {0.0625}}, {"round", {7}}, {"step", {3}}, {"steps", {6}}, {"n", {48}}, {"loss", {0.75}}});
    if (method.any_by_class()) drawn.vectors["counts"] = draws.vector(true, kSizes.classes);
    drawn.rows = rows_of(method);
    return drawn;
}

/// The root client's update, and its products with the others.
void add_root(Draws& draws, Drawn& drawn) {
    using namespace aggregation::formulas;
    const Vector& root = drawn.vectors["root.u"] = draws.vector();
    drawn.numbers[kRootNorm] = {norm_of(root)};
    for (const Vector& update : drawn.of_updates["u"]) {
        double dot = 0.0;
        for (std::size_t i = 0; i < kElements; ++i) dot += static_cast<double>(update[i]) * static_cast<double>(root[i]);
        drawn.numbers[kDotRoot].push_back(dot);
        drawn.numbers[kCosRoot].push_back(dot / (norm_of(update) * norm_of(root)));
    }
}

Drawn of_server(const MethodFormulas& method, Draws& draws) {
    Drawn drawn;
    drawn.vectors["w"] = draws.vector();
    drawn.numbers = {{"round", {7}}, {"clients", {12}}, {"received", {static_cast<double>(kUpdates)}}};
    for (std::size_t k = 0; k < kUpdates; ++k) drawn.of_updates["u"].push_back(draws.vector());
    if (method.has(Place::Mix)) {
        drawn.vectors["w_t"] = draws.vector();
        drawn.numbers["k.me"] = {0, 0, 1, 0, 0};
        drawn.numbers["k.id"] = {1, 4, 5, 6, 9};
        drawn.numbers[std::string(aggregation::formulas::kTheirLoss)] = {2.5, 0.75, 1.25, 1.5, 0.5};
    }
    for (const MethodMemory& memory : method.memories) {
        if (memory.is_number()) {
            drawn.numbers[memory.name] = {draws.number(true)};
            continue;
        }
        if (method.has(Place::Mix) && memory.owner == MemoryOwner::Client) drawn.vectors[memory.name] = draws.vector();
        if (memory.owner == MemoryOwner::Server) drawn.vectors[memory.name] = draws.of_memory(memory, true);
        for (std::size_t k = 0; memory.up && k < kUpdates; ++k)
            drawn.of_updates[memory.name].push_back(draws.of_memory(memory, false));
    }
    drawn.rows = rows_of(method);
    drawn.numbers["k.n"] = draws.each([&] { return draws.count(20, 90); });
    drawn.numbers["k.steps"] = draws.each([&] { return draws.count(3, 12); });
    for (const char* name : {"k.loss", "k.sent_loss"}) drawn.numbers[name] = draws.each([&] { return draws.number(true); });
    for (const std::string& report : method.reports)
        drawn.numbers["k." + report] = draws.each([&] { return draws.number(true); });
    for (const Vector& update : drawn.of_updates["u"]) drawn.numbers["k.norm"].push_back(norm_of(update));
    if (method.reads_root()) add_root(draws, drawn);
    return drawn;
}

json json_of(const Drawn& drawn) {
    json all;
    const auto shaped = [&](const std::string& name, const Vector& vector) {
        const auto found = drawn.rows.find(name);
        if (found == drawn.rows.end()) return json(vector);
        json rows = json::array();
        const std::size_t width = vector.size() / found->second;
        for (std::size_t r = 0; r < found->second; ++r) {
            const auto first = vector.begin() + static_cast<std::ptrdiff_t>(r * width);
            rows.push_back(Vector(first, first + static_cast<std::ptrdiff_t>(width)));
        }
        return rows;
    };
    for (const auto& [name, vector] : drawn.vectors) all[name] = shaped(name, vector);
    for (const auto& [name, numbers] : drawn.numbers)
        all[name] = name.starts_with("k.") ? json(numbers) : json(numbers.front());
    for (const auto& [name, vectors] : drawn.of_updates) {
        json& each = all["k." + name] = json::array();
        for (const Vector& vector : vectors) each.push_back(shaped(name, vector));
    }
    return all;
}

/// Σ_k weight_k v_k, in f64, rounded once.
Vector weighted(const std::vector<Vector>& vectors, const Numbers& weights) {
    Vector sum(vectors.front().size());
    for (std::size_t i = 0; i < sum.size(); ++i) {
        double value = 0.0;
        for (std::size_t k = 0; k < vectors.size(); ++k)
            value += weights[weights.size() == 1 ? 0 : k] * static_cast<double>(vectors[k][i]);
        sum[i] = static_cast<float>(value);
    }
    return sum;
}

using Results = std::map<std::string, Numbers>;  // of one place, by target

Results evaluated(const MethodFormulas& method, Place place, const Drawn& values) {
    Executor executor(method.of_vectors(place));
    aggregation::formulas::ClassFormulas by_class(method, place, kSizes);
    for (const auto& [name, value] : method.keys) executor.set(name, value);
    for (const auto& [name, numbers] : values.numbers) {
        executor.set(name, numbers);
        by_class.set(name, numbers.front());
    }
    for (const auto& [name, vector] : values.vectors) {
        executor.set(name, ConstParamSpan(vector));
        if (by_class.reads(name)) by_class.set(name, vector);
    }
    std::map<std::string, Vector> written;
    for (const std::string& name : executor.program().stored) {
        written[name].resize(kElements);
        executor.write_to(name, ParamSpan(written[name]));
    }
    InnerProducts products;
    if (const auto updates = values.of_updates.find(method.products_of.empty() ? "u" : method.products_of);
        updates != values.of_updates.end()) {
        const std::vector<ConstParamSpan> rows(updates->second.begin(), updates->second.end());
        products = inner_products_of(rows, 0);
        executor.set_products(&products);
    }
    executor.run(std::vector<aggregation::formulas::ElementRange>{{0, kElements}});
    by_class.run();
    Results results;
    for (const auto& [name, vector] : by_class.results()) results[name].assign(vector.begin(), vector.end());
    for (const auto& target : executor.program().formulas.targets) {
        if (const auto vector = written.find(target.name); vector != written.end())
            results[target.name].assign(vector->second.begin(), vector->second.end());
        else
            results[target.name] = executor.numbers(target.name);
    }
    return results;
}

/// Adds what the server reads of the cohort: its numbers, and the aggregates by its weights.
void aggregate(const Method& method, const Results& of_cohort, Drawn& server) {
    Numbers weights(kUpdates, 1.0 / static_cast<double>(kUpdates));
    if (!method.equal_weights) {
        weights = server.numbers.at("k.n");
        double all = 0.0;
        for (const double n : weights) all += n;
        for (double& weight : weights) weight /= all;
    }
    std::map<std::string, Numbers> further;
    for (std::size_t i = 0; i < method.formulas.num_further(); ++i) further[aggregation::formulas::further_name(i)];
    for (const auto& [name, value] : of_cohort)
        (name == "weight" ? weights : further.contains(name) ? further[name] : server.numbers[name]) = value;
    for (const auto& [name, vectors] : server.of_updates) {
        server.vectors[name] = weighted(vectors, weights);
        for (const auto& [weight, values] : further) server.vectors[weight + "." + name] = weighted(vectors, values);
    }
}

Numbers numbers_in(const json& value) {
    if (value.is_array() && value[0].is_array()) {
        Numbers all;
        for (const json& row : value)
            for (const json& one : row) all.push_back(one.get<double>());
        return all;
    }
    if (value.is_array()) return value.get<Numbers>();
    return {value.get<double>()};
}

std::string line_of(const std::string& place, const std::string& target, const Numbers& ours, const Numbers& theirs,
                    bool& is_equal) {
    double largest = 0.0, apart = 0.0;
    for (std::size_t i = 0; i < std::max(ours.size(), theirs.size()); ++i) {
        const double a = ours[ours.size() == 1 ? 0 : i], b = theirs[theirs.size() == 1 ? 0 : i];
        largest = std::max({largest, std::abs(a), std::abs(b)});
        apart = std::isfinite(a) && std::isfinite(b) ? std::max(apart, std::abs(a - b)) : HUGE_VAL;
    }
    const bool is_near = apart <= kEqual * largest;
    is_equal = is_equal && is_near;
    return fmt::format("{:<11} {}: {}, largest difference {:.2g} of {:.4g}\n", place, target, is_near ? "equal" : "DIFFERENT",
                       apart, largest);
}

}  // namespace

MethodComparison compare_with_python(const Method& method) {
    if (method.file.extension() != ".py")
        throw ConfigError(
            fmt::format("{}: --python compares the functions of a .py file with its formulas", method.file.string()));
    if (!method.formulas.any())
        return {.text = "nothing to compare: it has no formulas, Python runs all of it\n", .is_equal = true};
    Draws draws;
    const Drawn client = of_client(method.formulas, draws);
    Drawn server = of_server(method.formulas, draws);
    for (const auto& [name, value] : method.formulas.keys) server.numbers.emplace(name, Numbers{value});
    std::map<std::string, Results> ours;
    for (const Place place : {Place::Start, Place::Second, Place::Gradient, Place::After, Place::End, Place::Judge})
        if (method.has(place)) ours[word_of(place)] = evaluated(method.formulas, place, client);
    if (method.has(Place::Cohort)) ours["cohort"] = evaluated(method.formulas, Place::Cohort, server);
    aggregate(method, ours["cohort"], server);
    if (method.has(Place::Server)) ours["server"] = evaluated(method.formulas, Place::Server, server);

    if (method.has(Place::Mix)) {
        Drawn mixed = server;
        const Results peers = evaluated(method.formulas, Place::Peers, server);
        for (const auto& [name, value] : peers)
            if (name != "weight") mixed.numbers[name] = value;
        const Numbers& weights = peers.at("weight");
        for (const auto& [name, vectors] : server.of_updates) mixed.vectors[name] = weighted(vectors, weights);
        ours["mix"] = evaluated(method.formulas, Place::Mix, mixed);
    }

    const TemporaryFile inputs;
    std::ofstream(inputs.path()) << json{
        {"keys", method.formulas.keys}, {"client", json_of(client)}, {"server", json_of(server)}};
    const json theirs = json::parse(python_result("fedhive.uncompiled", method.file, {inputs.path()}));
    MethodComparison compared{.text = {}, .is_equal = true};
    for (const auto& [place, results] : theirs.items())
        for (const auto& [target, value] : results.items())
            if (const auto found = ours[place].find(target); found != ours[place].end())
                compared.text += line_of(place, target, found->second, numbers_in(value), compared.is_equal);
    for (const Place place : {Place::Loss, Place::Measure, Place::Answer})
        if (method.has(place))
            compared.text +=
                fmt::format("{:<11} not compared: it reads examples, which this command does not draw\n", word_of(place));
    return compared;
}

}  // namespace fedhive::sim
