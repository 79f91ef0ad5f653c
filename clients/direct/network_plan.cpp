#include "clients/direct/network_plan.h"

#include "aggregation/base/error.h"
#include "clients/direct/ops/winograd.h"
#include "clients/direct/planner.h"

#include <fmt/format.h>

#include <algorithm>

namespace fedhive::clients::direct {

namespace {

using Layers = std::span<const PlannedLayer>;

std::string misfit_of(Layers layers) {
    for (const PlannedLayer& layer : layers) {
        const LayerOp* op = layer_ops().find(layer.kind);
        const std::string_view lacking = op == nullptr          ? name_of(layer.kind)
                                         : op->lacks != nullptr ? op->lacks(layer)
                                                                : std::string_view();
        if (!lacking.empty()) return fmt::format("{} (layer {})", lacking, layer.number);
        for (const Layers inner : {Layers(layer.residual), Layers(layer.shortcut)})
            if (std::string within = misfit_of(inner); !within.empty()) return within;
    }
    return "";
}

/// Whether some of the layer's parameters are trained, in a residual any layer's.
bool is_trained(const PlannedLayer& layer) {
    bool trained = std::ranges::any_of(layer.fit.parameters, [](const Parameter& each) { return !each.frozen; });
    for_each_within(layer, [&](const PlannedLayer& inner) { trained = trained || is_trained(inner); });
    return trained;
}

/// Whether the layer, or one within it, has_wide_tensor().
bool is_wide(const PlannedLayer& layer) {
    bool wide = has_wide_tensor(layer);
    for_each_within(layer, [&](const PlannedLayer& inner) { wide = wide || is_wide(inner); });
    return wide;
}

}  // namespace

bool has_wide_tensor(const PlannedLayer& layer) {
    constexpr double kWide = 1 << 17;  // parameters
    return std::ranges::any_of(layer.fit.parameters, [](const Parameter& each) { return num_values(each.shape) >= kWide; });
}

Planner::Planner(const aggregation::Layout& layout, const aggregation::Layout& frozen, const Kernels& kernels)
    : kernels_(kernels), winograd_memory_(std::make_shared<WinogradMemory>()) {
    for (const aggregation::LayoutEntry& entry : layout.entries()) offsets_[entry.name] = entry.offset;
    for (const aggregation::LayoutEntry& entry : frozen.entries()) offsets_[entry.name] = entry.offset | kFrozen;
}

void Planner::append(Chain& chain, Layers layers, bool pixels) {
    while (!layers.empty()) {
        const PlannedLayer& layer = layers.front();
        Made made = layer_ops().at(layer.kind).make({*this, layer, layers.subspan(1), pixels});
        const std::size_t computed = 1 + made.fused;
        if (made.op != nullptr) {
            std::vector<std::string> numbers;
            for (const PlannedLayer& each : layers.first(computed)) numbers.push_back(each.number);
            made.op->does(std::move(numbers));
            made.op->set_trained(std::ranges::any_of(layers.first(computed), is_trained));
            chain.add(std::move(made.op));
        }
        layers = layers.subspan(computed);
    }
}

TensorOffsets Planner::place_of(const PlannedLayer& layer) const { return place_of(layer, "weight", "bias"); }

TensorOffsets Planner::place_of(const PlannedLayer& layer, const std::string& weight, const std::string& bias) const {
    return {place_of(layer, weight), layer.find_tensor(bias) == nullptr ? TensorOffsets::kNone : place_of(layer, bias)};
}

std::size_t Planner::place_of(const PlannedLayer& layer, const std::string& tensor) const {
    const Parameter* found = layer.find_tensor(tensor);
    FEDHIVE_CHECK(found != nullptr, "layer {} has no {}", layer.number, tensor);
    return offsets_.at(layer.name_of(*found));
}

std::string misfit(const ModelSpec& spec) { return misfit_of(plan_model(spec)); }

NetworkPlan make_plan(const ModelSpec& spec, const aggregation::Layout& layout, const aggregation::Layout& frozen,
                      const Kernels& kernels) {
    const std::vector<PlannedLayer> layers = plan_model(spec);
    if (const std::string missing = misfit_of(layers); !missing.empty())
        throw ConfigError(fmt::format("the direct engine has no {}", missing));
    const auto flat = std::find_if(layers.begin(), layers.end(), [](const auto& layer) { return layer.in.size() == 1; });
    const auto wide = std::find_if(layers.begin(), flat, is_wide);
    NetworkPlan plan{Chain(size_of(layers.front().in)),
                     Chain(size_of(wide == layers.end() ? layers.back().fit.out : wide->in))};
    Planner planner(layout, frozen, kernels);
    // With flatten as the first layer, examples keep the data set's order.
    const bool only_flatten = flat - layers.begin() == 1 && layers.front().kind == LayerKind::Flatten;
    if (flat != layers.begin() && !only_flatten) {
        const Image in = image_of(layers.front().in);
        if (in.channels > 1 && in.pixels() > 1) plan.images.add(make_transpose(in.channels, in.pixels()));
        planner.append(plan.images, Layers(layers.begin(), wide), true);
        planner.append(plan.features, Layers(wide, flat), true);
    }
    planner.append(plan.features, Layers(flat, layers.end()), false);
    return plan;
}

}  // namespace fedhive::clients::direct
