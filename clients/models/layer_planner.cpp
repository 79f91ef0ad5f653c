#include "clients/models/layer_planner.h"

#include "clients/data/data_format.h"
#include "clients/models/layer_misfits.h"
#include "clients/models/layer_place.h"

#include <fmt/format.h>

#include <algorithm>

namespace fedhive::clients {

namespace {

constexpr double kMostValues = 1e15;  // values of one example between two layers; keeps sizes far below 64 bits

class LayerPlanner {
public:
    LayerPlanner(const ModelSpec& spec, std::span<const ListedLayer> entries, std::span<const std::string> names,
                 std::span<const std::vector<Parameter>> tensors)
        : spec_(spec),
          entries_(entries),
          names_(names),
          tensors_(tensors),
          answers_(DataShape{spec.input, spec.num_classes, spec.target}.answers()),
          tokens_(spec.input.vocabulary) {}

    std::vector<PlannedLayer> plan() {
        Shape shape = input_shape(spec_.input);
        std::vector<PlannedLayer> layers = plan_up_to_end({}, shape);
        FEDHIVE_CHECK(next_ == entries_.size(), "entry {} ends a residual or begins its shortcut, but no residual is open",
                      next_ - 1);
        if (layers.empty()) throw LayerMisfit("has no layers; write at least flatten and linear", "");
        if (shape != answers_)
            throw misfits::at(layers.back(), fmt::format("[{}]", layers.size() - 1),
                              misfits::wrong_answers(spec_, shape, answers_));
        if (std::ranges::none_of(layers, &PlannedLayer::has_parameters))
            throw LayerMisfit("has no layer with parameters; write at least flatten and linear", "");
        return layers;
    }

private:
    std::vector<PlannedLayer> plan_up_to_end(const LayerPlace& around, Shape& shape) {
        std::vector<PlannedLayer> layers;
        while (next_ < entries_.size()) {
            const std::string given = names_.empty() ? "" : names_[next_];
            const std::vector<Parameter> tensors = tensors_.empty() ? std::vector<Parameter>() : tensors_[next_];
            const ListedLayer& entry = entries_[next_++];
            if (entry.kind == LayerList::kEnd || entry.kind == LayerList::kShortcut) break;
            FEDHIVE_CHECK(entry.kind < kNumLayerKinds, "kind {} of {}", entry.kind, kNumLayerKinds);
            LayerPlace place = around.below(layers.size(), entry.name.get());
            if (!given.empty()) place.name = given;
            PlannedLayer layer{
                .kind = static_cast<LayerKind>(entry.kind), .number = place.number, .name = place.name, .in = shape};
            check_tokens(layer, place);
            layer.arguments = arguments_of(layer, entry, place);
            layer.fit = fit(layer, place, layer.spec().holds_layers ? plan_residual(layer, place) : layer.in);
            give(layer, tensors);
            tokens_ = 0;
            shape = layer.fit.out;
            layers.push_back(std::move(layer));
        }
        return layers;
    }

    static void give(PlannedLayer& layer, const std::vector<Parameter>& tensors) {
        if (layer.kind == LayerKind::Attention && !tensors.empty()) layer.fit.parameters = tensors;
        const auto without_ones = [](Shape shape) {
            std::erase(shape, 1);
            return shape;
        };
        for (std::vector<Parameter>* own : {&layer.fit.parameters, &layer.fit.buffers})
            for (Parameter& tensor : *own) {
                const auto given = std::ranges::find(tensors, tensor.name, &Parameter::name);
                if (given == tensors.end()) continue;
                tensor.path = given->path;
                if (without_ones(tensor.shape) == without_ones(given->shape)) tensor.shape = given->shape;
            }
    }

    /// Throws unless an embedding, and only an embedding, gets tokens.
    void check_tokens(const PlannedLayer& layer, const LayerPlace& place) const {
        const bool takes = layer.spec().takes_tokens;
        if (takes && tokens_ == 0) throw misfits::at(layer, place.path, misfits::takes_tokens(layer.in));
        if (!takes && tokens_ > 0) throw misfits::at(layer, place.path, misfits::takes_numbers(layer.in));
    }

    /// Plans the layers of a residual and of its shortcut, up to its end. Returns the shape of the sum.
    Shape plan_residual(PlannedLayer& around, const LayerPlace& place) {
        Shape shape = around.in, beside = around.in;
        around.residual = plan_up_to_end(place, shape);
        if (around.residual.empty()) throw misfits::at(around, place.path, "has no layers in it");
        if (const ListedLayer mark = entries_[next_ - 1]; mark.kind == LayerList::kShortcut) {
            around.shortcut = plan_up_to_end(place.beside(mark.name.get()), beside);
            if (around.shortcut.empty()) throw misfits::at(around, place.path, "has no layers in its shortcut");
            FEDHIVE_CHECK(entries_[next_ - 1].kind != LayerList::kShortcut, "entry {} is a second shortcut", next_ - 1);
        }
        if (shape == beside) return shape;
        throw misfits::at(around, place.path,
                          around.shortcut.empty() ? misfits::changes_shape(around.in, shape)
                                                  : misfits::differs_from_shortcut(around.in, shape, beside));
    }

    Values arguments_of(const PlannedLayer& layer, const ListedLayer& entry, const LayerPlace& place) const {
        Values values;
        for (std::size_t i = 0; i < layer.spec().keys.size(); ++i) {
            const KeySpec& key = layer.spec().keys[i];
            const auto given = static_cast<double>(entry.arguments[i]);
            const auto integer = static_cast<std::int64_t>(given);
            if (std::holds_alternative<double>(key.default_value))
                values.set(key.name, given);
            else if (std::holds_alternative<std::int64_t>(key.default_value))
                values.set(key.name, integer);
            else if (std::holds_alternative<bool>(key.default_value))
                values.set(key.name, integer > 0);
            else if (layer.spec().takes_tokens)
                values.set(key.name, std::optional(rows_of(layer, place, integer)));
            else if (integer > 0)
                values.set(key.name, std::optional(integer));
            else if (layer.kind != LayerKind::Linear || key.name != "out")
                values.set(key.name, key.default_value);
            else if (next_ == entries_.size())
                values.set(key.name, std::optional(answers_.back()));
            else
                throw misfits::at(layer, place.path, misfits::needs(spec_, key.name));
        }
        return values;
    }

    /// Number of rows of an embedding's table.
    std::int64_t rows_of(const PlannedLayer& layer, const LayerPlace& place, std::int64_t given) const {
        if (given > 0 && given < tokens_) throw misfits::at(layer, place.path, misfits::has_too_few_rows(given, tokens_));
        return given > 0 ? given : tokens_;
    }

    LayerFit fit(const PlannedLayer& layer, const LayerPlace& place, const Shape& in) const {
        try {
            LayerFit fit = layer.spec().fit(layer.arguments, in);
            if (num_values(fit.out) > kMostValues) throw ConfigError(misfits::gives_too_much(num_values(fit.out), kMostValues));
            return fit;
        } catch (const ConfigError& error) {
            throw misfits::at(layer, place.path, error.what());
        }
    }

    const ModelSpec& spec_;
    std::span<const ListedLayer> entries_;
    std::span<const std::string> names_;
    std::span<const std::vector<Parameter>> tensors_;
    Shape answers_;        // required output of the last layer
    std::int64_t tokens_;  // vocabulary size if the next layer's input is tokens; 0 if it is numbers
    std::size_t next_ = 0;
};

}  // namespace

std::vector<PlannedLayer> plan_layers(const ModelSpec& spec, std::span<const ListedLayer> entries,
                                      std::span<const std::string> names, std::span<const std::vector<Parameter>> tensors) {
    return LayerPlanner(spec, entries, names, tensors).plan();
}

void freeze(std::vector<PlannedLayer>& layers, const std::function<bool(const std::string&)>& frozen) {
    for (PlannedLayer& layer : layers) {
        for (Parameter& parameter : layer.fit.parameters) parameter.frozen = frozen(layer.name_of(parameter));
        freeze(layer.residual, frozen);
        freeze(layer.shortcut, frozen);
    }
}

}  // namespace fedhive::clients
