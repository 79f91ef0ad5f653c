#include "clients/models/model_plan.h"

#include "clients/data/data_format.h"
#include "clients/exported/refusal.h"
#include "clients/exported/roles.h"
#include "clients/models/graph_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace fedhive::clients {

namespace {

constexpr double kMostValues = 1e15;  // values of one example between two layers; keeps sizes far below 64 bits

/// A layer's position: on the top level, in a residual, or in a residual's shortcut.
struct Place {
    std::string number, name, path;
    std::string list = "residual";  // name of the inner list in the path

    Place below(std::size_t index, const std::string& given) const {
        const std::string dot = number.empty() ? "" : ".";
        const std::string own = fmt::format("{}{}{}", name, dot, given.empty() ? std::to_string(index) : given);
        return {fmt::format("{}{}{}", number, dot, index), own,
                fmt::format("{}{}[{}]", path, number.empty() ? "" : "." + list, index)};
    }

    /// The position of the shortcut of a residual at this place.
    Place beside(const std::string& given) const { return {number + ".shortcut", name + "." + given, path, "shortcut"}; }
};

class Planner {
public:
    /// names: for each entry, overrides the list's; empty: the list's own names.
    Planner(const ModelSpec& spec, std::span<const ListedLayer> entries, std::span<const std::string> names)
        : entries_(entries),
          names_(names),
          answers_(DataShape{spec.input, spec.num_classes, spec.target}.answers()),
          wanted_(wanted_by(spec)),
          units_(spec.target.kind == TargetKind::Numbers ? "targets' numbers" : "classes"),
          tokens_(spec.input.vocabulary) {}

    std::vector<PlannedLayer> plan(const Shape& input) {
        Shape shape = input;
        std::vector<PlannedLayer> layers = plan_up_to_end({}, shape);
        FEDHIVE_CHECK(next_ == entries_.size(), "entry {} ends a residual or begins its shortcut, but no residual is open",
                      next_ - 1);
        if (layers.empty()) throw LayerMisfit("has no layers; write at least flatten and linear", "");
        const PlannedLayer& last = layers.back();
        if (shape != answers_)
            throw misfit(last, fmt::format("[{}]", layers.size() - 1),
                         fmt::format("is the last layer and gives {}, but {}; {}", text_of(shape), wanted_,
                                     shape.size() == 2 && answers_.size() == 1
                                         ? "for one output for all positions, put flatten or last_position before linear, or "
                                           "remove all_positions of lstm"
                                         : "end with linear, without out"));
        if (std::ranges::none_of(layers, &PlannedLayer::has_parameters))
            throw LayerMisfit("has no layer with parameters; write at least flatten and linear", "");
        return layers;
    }

private:
    static std::string wanted_by(const ModelSpec& spec) {
        switch (spec.target.kind) {
            case TargetKind::Numbers:
                return fmt::format("the data's targets are {} number{}", spec.target.width, spec.target.width == 1 ? "" : "s");
            case TargetKind::ClassEach:
                return fmt::format("the data has {} classes at each of {} positions", spec.num_classes, spec.target.width);
            case TargetKind::Class:
                break;
        }
        return fmt::format("the data has {} classes", spec.num_classes);
    }

    static LayerMisfit misfit(const PlannedLayer& layer, const std::string& path, const std::string& problem) {
        return {fmt::format("layer {} ({}) {}", layer.number, layer.kind->name, problem), path};
    }

    std::vector<PlannedLayer> plan_up_to_end(const Place& around, Shape& shape) {
        std::vector<PlannedLayer> layers;
        while (next_ < entries_.size()) {
            const std::string given = names_.empty() ? "" : names_[next_];
            const ListedLayer& entry = entries_[next_++];
            if (entry.kind == LayerList::kEnd || entry.kind == LayerList::kShortcut) break;
            FEDHIVE_CHECK(entry.kind < layer_catalog().size(), "kind {} of {}", entry.kind, layer_catalog().size());
            Place place = around.below(layers.size(), entry.name.get());
            if (!given.empty()) place.name = given;
            PlannedLayer layer{.kind = &layer_catalog()[entry.kind], .number = place.number, .name = place.name, .in = shape};
            check_tokens(layer, place);
            layer.arguments = arguments_of(layer, entry, place);
            layer.fit = fit(layer, place, layer.kind->holds_layers ? plan_residual(layer, place) : layer.in);
            tokens_ = 0;
            shape = layer.fit.out;
            layers.push_back(std::move(layer));
        }
        return layers;
    }

    /// Throws unless an embedding, and only an embedding, gets tokens.
    void check_tokens(const PlannedLayer& layer, const Place& place) const {
        if (layer.kind->takes_tokens && tokens_ == 0)
            throw misfit(layer, place.path,
                         fmt::format("takes tokens, but its input is numbers, {}; use it only as the first layer for data of "
                                     "tokens, such as data.format text",
                                     text_of(layer.in)));
        if (!layer.kind->takes_tokens && tokens_ > 0)
            throw misfit(layer, place.path,
                         fmt::format("takes numbers, but its input is {} tokens; put embedding before it", text_of(layer.in)));
    }

    /// Plans the layers of a residual and of its shortcut, up to its end. Returns the shape of the sum.
    Shape plan_residual(PlannedLayer& around, const Place& place) {
        Shape shape = around.in, beside = around.in;
        around.residual = plan_up_to_end(place, shape);
        if (around.residual.empty()) throw misfit(around, place.path, "has no layers in it");
        if (const ListedLayer mark = entries_[next_ - 1]; mark.kind == LayerList::kShortcut) {
            around.shortcut = plan_up_to_end(place.beside(mark.name.get()), beside);
            if (around.shortcut.empty()) throw misfit(around, place.path, "has no layers in its shortcut");
            FEDHIVE_CHECK(entries_[next_ - 1].kind != LayerList::kShortcut, "entry {} is a second shortcut", next_ - 1);
        }
        if (shape != beside && around.shortcut.empty())
            throw misfit(around, place.path,
                         fmt::format("cannot add its input of {} to the output of its layers, {}; keep the shape with padding "
                                     "and the same number of channels, or add a shortcut that also gives {}",
                                     text_of(beside), text_of(shape), text_of(shape)));
        if (shape != beside)
            throw misfit(around, place.path,
                         fmt::format("turns {} into {} by its layers and into {} by its shortcut, which cannot be added; make "
                                     "both shapes equal with strides, padding and channels",
                                     text_of(around.in), text_of(shape), text_of(beside)));
        return shape;
    }

    Values arguments_of(const PlannedLayer& layer, const ListedLayer& entry, const Place& place) const {
        Values values;
        for (std::size_t i = 0; i < layer.kind->keys.size(); ++i) {
            const KeySpec& key = layer.kind->keys[i];
            const auto given = static_cast<double>(entry.arguments[i]);
            const auto integer = static_cast<std::int64_t>(given);
            if (std::holds_alternative<double>(key.default_value))
                values.set(key.name, given);
            else if (std::holds_alternative<std::int64_t>(key.default_value))
                values.set(key.name, integer);
            else if (std::holds_alternative<bool>(key.default_value))
                values.set(key.name, integer > 0);
            else if (layer.kind->takes_tokens)
                values.set(key.name, std::optional(rows_of(layer, place, integer)));
            else if (integer > 0)
                values.set(key.name, std::optional(integer));
            else if (next_ == entries_.size())
                values.set(key.name, std::optional(answers_.back()));
            else
                throw misfit(layer, place.path,
                             fmt::format("needs {}; only the last layer may leave it out, where it is the number of {}",
                                         key.name, units_));
        }
        return values;
    }

    /// Number of rows of an embedding's table.
    std::int64_t rows_of(const PlannedLayer& layer, const Place& place, std::int64_t given) const {
        if (given > 0 && given < tokens_)
            throw misfit(
                layer, place.path,
                fmt::format("has rows for {} tokens, but the data have {}; give at least that number, or remove tokens", given,
                            tokens_));
        return given > 0 ? given : tokens_;
    }

    LayerFit fit(const PlannedLayer& layer, const Place& place, const Shape& in) const {
        try {
            LayerFit fit = layer.kind->fit(layer.arguments, in);
            if (num_values(fit.out) > kMostValues)
                throw ConfigError(fmt::format("gives {:.0e} values for an example; allowed: at most {:.0e}",
                                              num_values(fit.out), kMostValues));
            return fit;
        } catch (const ConfigError& error) {
            throw misfit(layer, place.path, error.what());
        }
    }

    std::span<const ListedLayer> entries_;
    std::span<const std::string> names_;
    Shape answers_;  // required output of the last layer
    std::string wanted_, units_;
    std::int64_t tokens_;  // vocabulary size if the next layer's input is tokens; 0 if it is numbers
    std::size_t next_ = 0;
};

/// Freezes the parameters for whose names frozen(name) is true, and unfreezes the others.
template <typename Frozen>
void freeze(std::vector<PlannedLayer>& layers, const Frozen& frozen) {
    for (PlannedLayer& layer : layers) {
        for (Parameter& parameter : layer.fit.parameters) parameter.frozen = frozen(layer.name + "." + parameter.name);
        freeze(layer.residual, frozen);
        freeze(layer.shortcut, frozen);
    }
}

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

/// The first difference in names, shapes or order that keeps the layers' tensors from replacing the file's; empty if none.
std::string difference(const aggregation::Layout& of_file, const aggregation::Layout& of_layers) {
    const auto& file = of_file.entries();
    const auto& layers = of_layers.entries();
    for (std::size_t i = 0; i < file.size(); ++i) {
        const auto found = std::ranges::find(layers, file[i].name, &aggregation::LayoutEntry::name);
        if (found == layers.end()) return fmt::format("{} belongs to no layer", exported::shown(file[i].name));
        if (found->shape != file[i].shape || found->kind != file[i].kind)
            return fmt::format("the shape of {} differs from that of its layer", exported::shown(file[i].name));
        if (found != layers.begin() + static_cast<std::ptrdiff_t>(i))
            return fmt::format(
                "{} is in the file where forward uses {}; declare modules in the order in which forward uses them",
                exported::shown(file[i].name), exported::shown(layers[i].name));
    }
    return "";
}

/// The layers of a graph, with the parameters frozen that are frozen in the file.
std::vector<PlannedLayer> plan_graph(const ModelSpec& spec, const exported::Program& program) {
    const Shape input = input_shape(spec.input);
    const GraphLayers found = layers_of_graph(program, input);
    std::vector<PlannedLayer> layers = Planner(spec, found.entries, found.names).plan(input);
    std::set<std::string> frozen;
    for (const exported::StoredTensor& tensor : program.tensors)
        if (tensor.role == exported::Role::Frozen) frozen.insert(tensor.name);
    freeze(layers, [&](const std::string& name) { return frozen.contains(name); });
    return layers;
}

}  // namespace

bool PlannedLayer::has_parameters() const { return num_parameters(*this) > 0.0; }

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
    std::vector<PlannedLayer> layers = Planner(spec, spec.layers.entries(), {}).plan(input_shape(spec.input));
    if (spec.frozen.any()) freeze(layers, [&](const std::string& name) { return spec.frozen.match(name); });
    return layers;
}

std::string kept_as_graph(const ModelSpec& spec, const exported::Program& program) {
    using exported::Role;
    try {
        const std::vector<PlannedLayer> layers = plan_graph(spec, program);
        const auto of_file = exported::layout_of(program, {Role::Trained, Role::Frozen, Role::Moved});
        return difference(of_file, layout_of(layers, true, [](const Parameter&) { return true; }));
    } catch (const LayerMisfit& misfit) {
        return fmt::format("the list of layers does not fit: {}", misfit.what());
    } catch (const ConfigError& error) {
        return error.what();
    }
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
    sum.all += values;
    sum.largest = std::max(sum.largest, values);
    for_each_within(layer, [&](const PlannedLayer& inner) { add_activations(inner, sum); });
}

}  // namespace

Activations activations_of(const ModelSpec& spec) {
    Activations sum;
    if (spec.is_graph()) return sum;
    for (const PlannedLayer& layer : plan_model(spec)) add_activations(layer, sum);
    return sum;
}

const PlannedLayer* layer_with_buffers(const std::vector<PlannedLayer>& layers) {
    for (const PlannedLayer& layer : layers) {
        if (!layer.fit.buffers.empty()) return &layer;
        for (const std::vector<PlannedLayer>* inner : {&layer.residual, &layer.shortcut})
            if (const PlannedLayer* found = layer_with_buffers(*inner)) return found;
    }
    return nullptr;
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
    return layout_of(plan_model(spec), true, [](const Parameter&) { return true; });
}

}  // namespace fedhive::clients
