#include "clients/models/model_plan.h"

#include "clients/exported/roles.h"
#include "clients/models/graph_plan.h"
#include "clients/models/layer_planner.h"

#include <fmt/format.h>

#include <algorithm>

namespace fedhive::clients {

namespace {

/// The layout of the parameters with wanted(parameter), then, if `buffers`, of all buffers.
template <typename Wanted>
aggregation::Layout layout_of(const std::vector<PlannedLayer>& plan, bool buffers, Wanted wanted) {
    using aggregation::TensorKind;
    aggregation::Layout layout;
    for_each_of(&LayerFit::parameters, plan, [&](const std::string& name, const Parameter& tensor) {
        if (wanted(tensor)) layout.add(name, tensor.shape, TensorKind::Parameter);
    });
    if (!buffers) return layout;
    for_each_of(&LayerFit::buffers, plan,
                [&](const std::string& name, const Parameter& tensor) { layout.add(name, tensor.shape, TensorKind::Buffer); });
    return layout;
}

}  // namespace

bool PlannedLayer::has_parameters() const { return num_parameters(*this) > 0.0; }

const Parameter* PlannedLayer::find_tensor(const std::string& tensor) const {
    for (const std::vector<Parameter>* tensors : {&fit.parameters, &fit.buffers})
        if (const auto found = std::ranges::find(*tensors, tensor, &Parameter::name); found != tensors->end()) return &*found;
    return nullptr;
}

Shape input_shape(const ExampleShape& example) {
    if (example.vocabulary > 0) return {static_cast<std::int64_t>(example.num_values())};
    return {example.channels, example.height, example.width};
}

std::string text_of(const ExampleShape& example) {
    const std::string text = text_of(input_shape(example));
    return example.vocabulary > 0 ? fmt::format("{} tokens of {}", text, example.vocabulary) : text;
}

std::vector<PlannedLayer> plan_model(const ModelSpec& spec) {
    FEDHIVE_CHECK(!spec.is_graph(), "a graph has no layers");
    if (spec.exported.given()) return plan_graph(spec, program_of(spec));
    std::vector<PlannedLayer> layers = plan_layers(spec, spec.layers.entries());
    if (spec.frozen.any()) freeze(layers, [&](const std::string& name) { return spec.frozen.match(name); });
    return layers;
}

double num_parameters(const PlannedLayer& layer) {
    double sum = 0.0;
    for (const Parameter& parameter : layer.fit.parameters) sum += num_values(parameter.shape);
    for_each_within(layer, [&](const PlannedLayer& inner) { sum += num_parameters(inner); });
    return sum;
}

double num_parameters(const ModelSpec& spec) {
    if (spec.is_graph()) return static_cast<double>(whole_layout(spec).num_parameters());
    double sum = 0.0;
    for (const PlannedLayer& layer : plan_model(spec)) sum += num_parameters(layer);
    return sum;
}

double num_frozen(const ModelSpec& spec) {
    if (spec.is_graph()) return static_cast<double>(frozen_layout(spec).num_parameters());
    double sum = 0.0;
    for_each_of(&LayerFit::parameters, plan_model(spec), [&](const std::string&, const Parameter& tensor) {
        if (tensor.frozen) sum += num_values(tensor.shape);
    });
    return sum;
}

double num_flops(const PlannedLayer& layer) {
    double sum = layer.fit.flops;
    for_each_within(layer, [&](const PlannedLayer& inner) { sum += num_flops(inner); });
    return sum;
}

namespace {

void add_activations(const PlannedLayer& layer, Activations& sum) {
    const double values = num_values(layer.fit.out);
    sum.all += values + layer.fit.kept;
    sum.largest = std::max(sum.largest, values);
    for_each_within(layer, [&](const PlannedLayer& inner) { add_activations(inner, sum); });
}

}  // namespace

Activations activations_of(const ModelSpec& spec) {
    Activations sum;
    if (spec.is_graph()) return sum;
    const std::vector<PlannedLayer> plan = plan_model(spec);
    for (const PlannedLayer& layer : plan) add_activations(layer, sum);
    if (spec.input.vocabulary > 0 || layer_with_buffers(plan) != nullptr) sum.gradients = 2.0 * sum.largest;
    return sum;
}

std::set<std::string> low_rank_factors(const ModelSpec& spec) {
    std::set<std::string> names;
    if (spec.is_graph()) return names;
    for_each_of(&LayerFit::parameters, plan_model(spec), [&](const std::string& name, const Parameter& tensor) {
        if (tensor.factor) names.insert(name);
    });
    return names;
}

const PlannedLayer* layer_with_buffers(const std::vector<PlannedLayer>& layers) {
    for (const PlannedLayer& layer : layers) {
        if (!layer.fit.buffers.empty()) return &layer;
        for (const std::vector<PlannedLayer>* inner : {&layer.residual, &layer.shortcut})
            if (const PlannedLayer* found = layer_with_buffers(*inner)) return found;
    }
    return nullptr;
}

aggregation::Layout model_layout(const ModelSpec& spec) {
    using exported::Role;
    if (spec.exported.given()) return exported::layout_of(program_of(spec), {Role::Trained, Role::Moved});
    return layout_of(plan_model(spec), true, [](const Parameter& tensor) { return !tensor.frozen; });
}

aggregation::Layout frozen_layout(const ModelSpec& spec) {
    if (spec.exported.given()) return exported::layout_of(program_of(spec), {exported::Role::Frozen});
    if (!spec.frozen.any()) return {};
    return layout_of(plan_model(spec), false, [](const Parameter& tensor) { return tensor.frozen; });
}

aggregation::Layout whole_layout(const ModelSpec& spec) {
    using exported::Role;
    if (spec.exported.given()) return exported::layout_of(program_of(spec), {Role::Trained, Role::Frozen, Role::Moved});
    return whole_layout(plan_model(spec));
}

aggregation::Layout whole_layout(const std::vector<PlannedLayer>& layers) {
    return layout_of(layers, true, [](const Parameter&) { return true; });
}

}  // namespace fedhive::clients
