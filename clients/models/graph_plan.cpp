#include "clients/models/graph_plan.h"

#include "aggregation/base/error.h"
#include "clients/exported/refusal.h"
#include "clients/exported/roles.h"
#include "clients/models/graph_layers.h"
#include "clients/models/layer_planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace fedhive::clients {

namespace {

/// The first difference in names or shapes that keeps the layers' tensors from replacing the file's; empty if none.
std::string difference(const aggregation::Layout& of_file, const aggregation::Layout& of_layers) {
    const auto& file = of_file.entries();
    const auto& layers = of_layers.entries();
    for (const aggregation::LayoutEntry& entry : file) {
        const auto found = std::ranges::find(layers, entry.name, &aggregation::LayoutEntry::name);
        if (found == layers.end()) return fmt::format("{} belongs to no layer", exported::shown(entry.name));
        if (found->shape != entry.shape || found->kind != entry.kind)
            return fmt::format("the shape of {} differs from that of its layer", exported::shown(entry.name));
    }
    FEDHIVE_CHECK_EQ(layers.size(), file.size());
    return "";
}

}  // namespace

std::vector<PlannedLayer> plan_graph(const ModelSpec& spec, const exported::Program& program) {
    const GraphLayers found = layers_of_graph(program, input_shape(spec.input));
    std::vector<PlannedLayer> layers = plan_layers(spec, found.entries, found.names, found.tensors);
    std::set<std::string> frozen;
    for (const exported::StoredTensor& tensor : program.tensors)
        if (tensor.role == exported::Role::Frozen) frozen.insert(tensor.name);
    freeze(layers, [&](const std::string& name) { return frozen.contains(name); });
    return layers;
}

std::string kept_as_graph(const ModelSpec& spec, const exported::Program& program) {
    using exported::Role;
    try {
        const std::vector<PlannedLayer> layers = plan_graph(spec, program);
        const auto of_file = exported::layout_of(program, {Role::Trained, Role::Frozen, Role::Moved});
        return difference(of_file, whole_layout(layers));
    } catch (const LayerMisfit& misfit) {
        return fmt::format("the list of layers does not fit: {}", misfit.what());
    } catch (const ConfigError& error) {
        return error.what();
    }
}

exported::Program program_of(const ModelSpec& spec) {
    exported::Program program = exported::read_program(spec.exported);
    exported::freeze(program, spec.frozen);
    return program;
}

std::vector<exported::OtherTensor> other_tensors(const ModelSpec& spec) {
    if (!spec.exported.given()) return {};
    return exported::other_tensors(program_of(spec));
}

}  // namespace fedhive::clients
