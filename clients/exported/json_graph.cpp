#include "clients/exported/json_graph.h"

#include "clients/exported/refusal.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <limits>
#include <map>

namespace fedhive::clients::exported {

namespace {

using Json = nlohmann::json;
using Kind = Argument::Kind;

constexpr int kMostDepth = 8;
constexpr std::size_t kMostNodes = 100'000;

class GraphReader {
public:
    Graph graph(const Json& json, int depth) {
        if (depth > kMostDepth) refuse(fmt::format("has nested graphs, {} deep; allowed: {}", depth, kMostDepth), kExport);
        Graph graph;
        for (const Json& each : json.at("inputs")) graph.inputs.push_back(argument(each, depth));
        for (const Json& each : json.at("outputs")) graph.outputs.push_back(argument(each, depth));
        for (const Json& each : json.at("nodes")) {
            if (++nodes_ > kMostNodes) refuse(fmt::format("has more than {} operations", kMostNodes));
            Node node{each.at("target"), {}, {}};
            for (const Json& input : each.at("inputs"))
                node.inputs.push_back({input.at("name"), argument(input.at("arg"), depth)});
            for (const Json& output : each.at("outputs")) node.outputs.push_back(argument(output, depth));
            graph.nodes.push_back(std::move(node));
        }
        return graph;
    }

private:
    /// {"as_int": 3}: an object with one key, the kind.
    Argument argument(const Json& json, int depth) {
        if (!json.is_object() || json.size() != 1) refuse("is damaged: an argument is not of one kind", kExport);
        const std::string& kind = json.begin().key();
        const Json& value = json.begin().value();
        if (kind == "as_graph") {
            Argument made{.kind = Kind::Graph, .text = value.at("name")};
            made.graph = std::make_shared<const Graph>(graph(value.at("graph"), depth + 1));
            return made;
        }
        const auto found = readers().find(kind);
        if (found == readers().end()) refuse(fmt::format("has an argument of the unknown kind {}", shown(kind)), kExport);
        return found->second(value);
    }

    static std::string name_of(const Json& tensor) { return tensor.at("name"); }

    /// {"as_name": "s0"} or a number.
    static Argument symbol(const Json& value, Kind named, Kind plain) {
        if (value.contains("as_name")) return {.kind = named, .text = value.at("as_name")};
        if (plain == Kind::Float) return {.kind = plain, .real = value.at("as_float")};
        if (plain == Kind::Bool) return {.kind = plain, .number = value.at("as_bool").get<bool>() ? 1 : 0};
        return {.kind = plain, .number = value.at("as_int")};
    }

    static Argument symbols(const Json& value) {
        Argument made{.kind = Kind::SymInts};
        for (const Json& each : value) {
            const bool named = each.contains("as_name");
            made.names.push_back(named ? each.at("as_name").get<std::string>() : "");
            made.ints.push_back(named ? 0 : each.at("as_int").get<std::int64_t>());
        }
        return made;
    }

    static Argument tensors(const Json& value, bool optional) {
        Argument made{.kind = Kind::Tensors};
        for (const Json& each : value) {
            if (!optional)
                made.names.push_back(name_of(each));
            else
                made.names.push_back(each.contains("as_tensor") ? name_of(each.at("as_tensor")) : "");
        }
        return made;
    }

    static double real(const Json& value) {
        if (!value.is_string()) return value.get<double>();
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        static const std::map<std::string, double> words{
            {"Infinity", kInfinity}, {"-Infinity", -kInfinity}, {"NaN", std::numeric_limits<double>::quiet_NaN()}};
        const auto found = words.find(value.get<std::string>());
        if (found == words.end()) refuse("is damaged: a number is " + shown(value.get<std::string>()), kExport);
        return found->second;
    }

    template <typename Value>
    static Argument numbers(const Json& value, Kind kind, std::vector<Value> Argument::*list) {
        Argument made{.kind = kind};
        for (const Json& each : value) {
            if constexpr (std::is_same_v<Value, double>)
                (made.*list).push_back(real(each));
            else
                (made.*list).push_back(kind == Kind::Bools ? (each.get<bool>() ? 1 : 0) : each.get<Value>());
        }
        return made;
    }

    using Read = Argument (*)(const Json& value);
    static const std::map<std::string, Read>& readers() {
        static const std::map<std::string, Read> table{
            {"as_none", [](const Json&) { return Argument{}; }},
            {"as_tensor", [](const Json& value) { return Argument{.kind = Kind::Tensor, .text = name_of(value)}; }},
            {"as_optional_tensor",
             [](const Json& value) {
                 if (!value.contains("as_tensor")) return Argument{};
                 return Argument{.kind = Kind::Tensor, .text = name_of(value.at("as_tensor"))};
             }},
            {"as_tensors", [](const Json& value) { return tensors(value, false); }},
            {"as_optional_tensors", [](const Json& value) { return tensors(value, true); }},
            {"as_int", [](const Json& value) { return Argument{.kind = Kind::Int, .number = value}; }},
            {"as_ints", [](const Json& value) { return numbers(value, Kind::Ints, &Argument::ints); }},
            {"as_float", [](const Json& value) { return Argument{.kind = Kind::Float, .real = real(value)}; }},
            {"as_floats", [](const Json& value) { return numbers(value, Kind::Floats, &Argument::floats); }},
            {"as_bool", [](const Json& value) { return Argument{.kind = Kind::Bool, .number = value.get<bool>() ? 1 : 0}; }},
            {"as_bools", [](const Json& value) { return numbers(value, Kind::Bools, &Argument::ints); }},
            {"as_string", [](const Json& value) { return Argument{.kind = Kind::Text, .text = value}; }},
            {"as_sym_int", [](const Json& value) { return symbol(value, Kind::SymInt, Kind::Int); }},
            {"as_sym_ints", [](const Json& value) { return symbols(value); }},
            {"as_sym_float", [](const Json& value) { return symbol(value, Kind::SymFloat, Kind::Float); }},
            {"as_sym_bool", [](const Json& value) { return symbol(value, Kind::SymBool, Kind::Bool); }},
            {"as_scalar_type", [](const Json& value) { return Argument{.kind = Kind::ScalarType, .number = value}; }},
            {"as_memory_format", [](const Json& value) { return Argument{.kind = Kind::MemoryFormat, .number = value}; }},
            {"as_layout", [](const Json& value) { return Argument{.kind = Kind::Layout, .number = value}; }},
            {"as_device", [](const Json& value) { return Argument{.kind = Kind::Device, .text = value.at("type")}; }}};
        return table;
    }

    std::size_t nodes_ = 0;
};

}  // namespace

Graph graph_of(const Json& json) { return GraphReader().graph(json, 0); }

}  // namespace fedhive::clients::exported
