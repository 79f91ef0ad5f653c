#include "clients/direct/plan.h"

#include "aggregation/base/error.h"
#include "clients/direct/network.h"
#include "clients/direct/ops.h"
#include "clients/models/model_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

namespace fedhive::clients::direct {

namespace {

using Layers = std::vector<PlannedLayer>;

std::size_t size_of(const Shape& shape) { return static_cast<std::size_t>(num_values(shape)); }

std::size_t argument(const PlannedLayer& layer, const std::string& key) {
    return static_cast<std::size_t>(layer.arguments.integer(key));
}

/// The Image of a shape [channels, height, width]; of flat features, one pixel with that many channels.
Image image_of(const Shape& shape) {
    if (shape.size() == 1) return {1, 1, static_cast<std::size_t>(shape[0])};
    return {static_cast<std::size_t>(shape[1]), static_cast<std::size_t>(shape[2]), static_cast<std::size_t>(shape[0])};
}

/// Window size of an average pool; a pool of the whole image has one window.
std::size_t pool_size(const PlannedLayer& layer) {
    const std::size_t size = argument(layer, "size");
    return size > 0 ? size : image_of(layer.in).height;
}

/// [positions, features]
bool is_sequence(const PlannedLayer& layer) { return layer.in.size() == 2; }

class Planner;

/// Appends the operation of one layer by itself. Convolutions, linear layers, group norms and residuals fuse layers after them
/// instead.
using Append = void (*)(Planner& planner, Chain& chain, const PlannedLayer& layer, bool pixels);
const std::map<std::string_view, Append>& alone();

class Planner {
public:
    explicit Planner(const aggregation::Layout& layout) {
        for (const aggregation::LayoutEntry& entry : layout.entries()) offsets_[entry.name] = entry.offset;
    }

    /// Appends the operations of the layers. With `pixels` values are images stored [height][width][channels]; otherwise flat
    /// features.
    void append(Chain& chain, const Layers& layers, bool pixels) {
        for (std::size_t i = 0; i < layers.size();) {
            const std::size_t before = chain.size(), next = append_at(chain, layers, i, pixels);
            if (chain.size() > before) {
                std::vector<std::string> numbers;
                for (; i < next; ++i) numbers.push_back(layers[i].number);
                chain.last().does(std::move(numbers));
            }
            i = next;
        }
    }

    Place place_of(const PlannedLayer& layer) const {
        const auto bias = offsets_.find(layer.name + ".bias");
        return {offsets_.at(layer.name + ".weight"), bias == offsets_.end() ? Place::kNone : bias->second};
    }
    Drop next_drop(const PlannedLayer& layer) { return {layer.arguments.number("p"), num_drops_++}; }

private:
    /// Returns the index of the first layer that is not planned yet.
    std::size_t append_at(Chain& chain, const Layers& layers, std::size_t i, bool pixels) {
        const PlannedLayer& layer = layers[i];
        if (layer.kind->name == "conv2d") return append_convolution(chain, layers, i);
        if (layer.kind->name == "linear") return append_linear(chain, layers, i);
        if (layer.kind->name == "group_norm") return append_group_norm(chain, layers, i);
        if (layer.kind->name == "residual") return append_residual(chain, layers, i, pixels);
        alone().at(layer.kind->name)(*this, chain, layer, pixels);
        return i + 1;
    }

    std::size_t append_linear(Chain& chain, const Layers& layers, std::size_t i) const {
        const bool relu = is_relu(layers, i + 1);
        chain.add(make_linear(size_of(layers[i].in), size_of(layers[i].fit.out), relu, place_of(layers[i])));
        return i + (relu ? 2 : 1);
    }

    std::size_t append_group_norm(Chain& chain, const Layers& layers, std::size_t i) const {
        const bool relu = is_relu(layers, i + 1);
        chain.add(make_group_norm(image_of(layers[i].in), argument(layers[i], "groups"), relu, place_of(layers[i])));
        return i + (relu ? 2 : 1);
    }

    std::size_t append_residual(Chain& chain, const Layers& layers, std::size_t i, bool pixels) {
        const PlannedLayer& layer = layers[i];
        Chain within(size_of(layer.in)), beside(size_of(layer.in));
        append(within, layer.residual, pixels);
        append(beside, layer.shortcut, pixels);
        const bool relu = is_relu(layers, i + 1);
        chain.add(make_residual(size_of(layer.in), size_of(layer.fit.out), std::move(within), std::move(beside), relu));
        return i + (relu ? 2 : 1);
    }

    static bool is_relu(const Layers& layers, std::size_t i) { return i < layers.size() && layers[i].kind->name == "relu"; }

    /// Fuses a convolution with one relu, one dropout2d and one 2 × 2 max pool after it, in any order: a maximum commutes with
    /// a ReLU and with factors >= 0. Without a pool only a relu right after it is fused.
    std::size_t append_convolution(Chain& chain, const Layers& layers, std::size_t i) {
        const PlannedLayer& layer = layers[i];
        ConvolutionTerms terms{.in = image_of(layer.in),
                               .channels = argument(layer, "out"),
                               .kernel = argument(layer, "kernel"),
                               .stride = argument(layer, "stride"),
                               .padding = argument(layer, "padding"),
                               .place = place_of(layer)};
        std::optional<std::size_t> drop;
        std::size_t next = i + 1;
        for (; next < layers.size(); ++next) {
            const std::string& kind = layers[next].kind->name;
            if (kind == "relu" && !terms.relu)
                terms.relu = true;
            else if (kind == "max_pool" && !terms.pool && argument(layers[next], "size") == 2)
                terms.pool = true;
            else if (kind == "dropout2d" && !drop)
                drop = next;
            else
                break;
        }
        if (!terms.pool) {
            terms.relu = is_relu(layers, i + 1);
            next = i + (terms.relu ? 2 : 1);
        } else if (drop) {
            terms.drop = next_drop(layers[*drop]);
        }
        chain.add(uses_winograd(terms) && !terms.pool ? make_winograd_convolution(terms) : make_convolution(terms));
        return next;
    }

    std::map<std::string, std::size_t> offsets_;
    std::uint32_t num_drops_ = 0;
};

const std::map<std::string_view, Append>& alone() {
    static const std::map<std::string_view, Append> table{
        {"relu", [](Planner&, Chain& chain, const PlannedLayer& layer, bool) { chain.add(make_relu(size_of(layer.in))); }},
        {"tanh", [](Planner&, Chain& chain, const PlannedLayer& layer, bool) { chain.add(make_tanh(size_of(layer.in))); }},
        {"dropout", [](Planner& planner, Chain& chain, const PlannedLayer& layer,
                       bool) { chain.add(make_dropout(size_of(layer.in), planner.next_drop(layer))); }},
        {"dropout2d", [](Planner& planner, Chain& chain, const PlannedLayer& layer,
                         bool) { chain.add(make_channel_dropout(image_of(layer.in), planner.next_drop(layer))); }},
        {"max_pool", [](Planner&, Chain& chain, const PlannedLayer& layer,
                        bool) { chain.add(make_max_pool(image_of(layer.in), argument(layer, "size"))); }},
        {"avg_pool", [](Planner&, Chain& chain, const PlannedLayer& layer,
                        bool) { chain.add(make_average_pool(image_of(layer.in), pool_size(layer))); }},
        {"layer_norm", [](Planner& planner, Chain& chain, const PlannedLayer& layer,
                          bool) { chain.add(make_layer_norm(size_of(layer.in), planner.place_of(layer))); }},
        {"embedding",
         [](Planner& planner, Chain& chain, const PlannedLayer& layer, bool) {
             chain.add(make_embedding(size_of(layer.in), static_cast<std::size_t>(*layer.arguments.optional_integer("tokens")),
                                      argument(layer, "dim"), planner.place_of(layer)));
         }},
        {"flatten", [](Planner&, Chain& chain, const PlannedLayer& layer, bool pixels) {
             if (is_sequence(layer)) return;  // already stored position by position
             const Image in = image_of(layer.in);
             if (pixels && in.pixels() > 1 && in.channels > 1) chain.add(make_transpose(in.pixels(), in.channels));
         }}};
    return table;
}

std::string misfit_of(const Layers& layers) {
    for (const PlannedLayer& layer : layers) {
        const std::string& kind = layer.kind->name;
        const auto found = [&](std::string_view what) { return fmt::format("{} (layer {})", what, layer.number); };
        if (kind == "conv2d" && argument(layer, "groups") > 1) return found("conv2d with groups");
        if (kind == "conv2d" && argument(layer, "padding") >= argument(layer, "kernel"))
            return found("conv2d with padding not smaller than its kernel");
        if (kind == "avg_pool" && argument(layer, "size") == 0 && layer.in[1] != layer.in[2])
            return found("avg_pool over a whole image that is not square");
        if (kind == "layer_norm" && layer.arguments.flag("each_position")) return found("layer_norm over each position");
        if (kind == "layer_norm" && layer.in.size() == 3) return found("layer_norm over images");
        if (kind == "linear" && is_sequence(layer)) return found("linear at each position");
        const bool looks_behind = kind == "conv2d" || kind == "linear" || kind == "group_norm" || kind == "residual";
        if (!looks_behind && !alone().contains(kind)) return found(kind);
        if (kind == "residual" && layer.in.size() != layer.fit.out.size()) return found("residual that turns images into rows");
        for (const Layers* inner : {&layer.residual, &layer.shortcut})
            if (std::string within = misfit_of(*inner); !within.empty()) return within;
    }
    return "";
}

}  // namespace

std::string misfit(const ModelSpec& spec) { return misfit_of(plan_model(spec)); }

Plan make_plan(const ModelSpec& spec, const aggregation::Layout& layout) {
    const Layers layers = plan_model(spec);
    if (const std::string missing = misfit_of(layers); !missing.empty())
        throw ConfigError(fmt::format("the direct engine has no {}", missing));
    const auto flat = std::find_if(layers.begin(), layers.end(), [](const auto& layer) { return layer.in.size() == 1; });
    Plan plan{Chain(size_of(layers.front().in)), Chain(size_of(flat == layers.end() ? layers.back().fit.out : flat->in))};
    Planner planner(layout);
    Layers images(layers.begin(), flat);
    // With flatten as the first layer, examples keep the data set's order.
    const bool only_flatten = images.size() == 1 && images.front().kind->name == "flatten";
    if (!images.empty() && !only_flatten) {
        const Image in = image_of(images.front().in);
        if (in.channels > 1 && in.pixels() > 1) plan.images.add(make_transpose(in.channels, in.pixels()));
        planner.append(plan.images, images, true);
    }
    planner.append(plan.features, {flat, layers.end()}, false);
    return plan;
}

}  // namespace fedhive::clients::direct
