#include "clients/visit/python_model.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace fedhive::clients {

using nlohmann::json;

namespace {

json as_json(const KeyValue& value) {
    return std::visit(
        [](const auto& one) -> json {
            using One = std::decay_t<decltype(one)>;
            if constexpr (std::is_same_v<One, std::optional<std::int64_t>> || std::is_same_v<One, std::optional<double>>)
                return one ? json(*one) : json();
            else if constexpr (std::is_same_v<One, std::filesystem::path>)
                return one.string();
            else
                return one;
        },
        static_cast<const AnyValue&>(value));
}

json list_as_json(const std::vector<PlannedLayer>& layers) {
    json list = json::array();
    for (const PlannedLayer& layer : layers) {
        json one{{"kind", name_of(layer.kind)}, {"name", layer.name}, {"in", layer.in}, {"arguments", json::object()}};
        for (const KeySpec& key : layer.spec().keys)
            if (const KeyValue* value = layer.arguments.find(key.name); value != nullptr)
                one["arguments"][key.name] = as_json(*value);
        if (layer.spec().holds_layers) one["residual"] = list_as_json(layer.residual);
        if (!layer.shortcut.empty()) one["shortcut"] = list_as_json(layer.shortcut);
        list.push_back(std::move(one));
    }
    return list;
}

bool have_modules(const std::vector<PlannedLayer>& layers) {
    return std::ranges::all_of(layers, [](const PlannedLayer& layer) {
        const auto is_own = [&](const Parameter& tensor) { return layer.name_of(tensor) == layer.name + "." + tensor.name; };
        const bool whole = layer.kind != LayerKind::Attention ||
                           (layer.find_tensor("in_proj_bias") != nullptr && layer.find_tensor("out_proj.bias") != nullptr);
        return whole && std::ranges::all_of(layer.fit.parameters, is_own) && have_modules(layer.residual) &&
               have_modules(layer.shortcut);
    });
}

}  // namespace

bool has_modules(const ModelSpec& spec) { return !spec.is_graph() && have_modules(plan_model(spec)); }

json tensors_as_json(const aggregation::Layout& layout) {
    json tensors = json::array();
    for (const aggregation::LayoutEntry& entry : layout.entries())
        tensors.push_back({entry.name, entry.offset, entry.size, entry.shape});
    return tensors;
}

json layers_as_json(const ModelSpec& spec) { return spec.is_graph() ? json::array() : list_as_json(plan_model(spec)); }

}  // namespace fedhive::clients
