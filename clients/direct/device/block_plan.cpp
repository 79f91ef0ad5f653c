#include "clients/direct/device/block_plan.h"

#include "aggregation/base/error.h"
#include "clients/direct/device/layer_types.h"
#include "clients/direct/network_plan.h"
#include "clients/direct/shared_rules.h"
#include "clients/models/layer_table.h"
#include "clients/models/model_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

namespace fedhive::clients::direct::device {

namespace {

using Layers = std::vector<PlannedLayer>;

Extent extent_of(const Shape& shape) {
    const auto side = [&](std::size_t i) { return static_cast<std::uint32_t>(shape[i]); };
    if (shape.size() == 3) return {side(0), side(1), side(2)};
    return {static_cast<std::uint32_t>(num_values(shape)), 1, 1};  // a sequence: position by position
}

std::uint32_t argument(const PlannedLayer& layer, const std::string& key) {
    return static_cast<std::uint32_t>(layer.arguments.integer(key));
}

class Planner;

/// Appends the layers of the device's that compute the planned one, none where it moves no values.
using Append = void (*)(Planner& planner, const PlannedLayer& planned);

/// A line of the table of layers.
struct DeviceLayer {
    LayerKind kind = LayerKind::Linear;
    Append append = nullptr;

    /// Names what blocks cannot compute of such a layer; empty: nothing. Null: they compute all that the host does.
    std::string_view (*lacks)(const PlannedLayer& layer) = nullptr;
};
const LayerTable<DeviceLayer>& device_layers();

class Planner {
public:
    Planner(const aggregation::Layout& layout, std::uint32_t inputs) : end_(inputs) {
        for (const aggregation::LayoutEntry& entry : layout.entries())
            offsets_[entry.name] = static_cast<std::uint32_t>(entry.offset);
    }

    void append(const Layers& planned) {
        for (const PlannedLayer& layer : planned) device_layers().at(layer.kind).append(*this, layer);
    }

    /// Appends a layer that `describe` has completed.
    template <typename Describe>
    void append_one(Kind kind, const PlannedLayer& planned, const Describe& describe) {
        Layer layer;
        layer.kind = kind;
        layer.in = extent_of(planned.in);
        layer.out = extent_of(planned.fit.out);
        layer.in_at = at_;
        describe(layer);
        at_ = layer.out_at = take(layer.out.size());
        layers.push_back(layer);
    }

    void append_residual(const PlannedLayer& planned) {
        Layer begin, sum;
        begin.kind = Kind::ResidualBegin;
        sum.kind = planned.shortcut.empty() ? Kind::ResidualSum : Kind::ShortcutSum;
        begin.in = begin.out = extent_of(planned.in);
        sum.in = sum.out = extent_of(planned.fit.out);
        begin.in_at = begin.out_at = sum.other_at = at_;
        const std::size_t first = layers.size();
        layers.push_back(begin);
        append(planned.residual);
        const bool leaves_all = at_ == sum.other_at;  // then the sum is of what comes in and the shortcut's
        if (leaves_all && !planned.shortcut.empty()) {
            sum.kind = Kind::ResidualSum;
            append(planned.shortcut);
        }
        sum.in_at = at_;
        if (sum.kind == Kind::ShortcutSum) {
            Layer copy = begin;
            copy.kind = Kind::ShortcutBegin;
            at_ = copy.out_at = layers[first].other_at = take(copy.out.size());
            layers.push_back(copy);
            append(planned.shortcut);
            sum.other_at = at_;
        }
        at_ = sum.out_at = take(sum.out.size());
        if (sum.kind == Kind::ResidualSum) layers[first].other_at = at_;
        layers.push_back(sum);
    }

    /// Offset of that many floats of a row.
    std::uint32_t take(std::uint32_t floats) {
        if (floats > std::numeric_limits<std::int32_t>::max() - end_)
            throw ConfigError("a row of values is beyond 2^31 floats");
        end_ += floats;
        return end_ - floats;
    }

    void place_parameters(const PlannedLayer& planned, Layer& layer) const {
        const Parameter* bias = planned.find_tensor("bias");
        layer.weight = offsets_.at(planned.name_of(*planned.find_tensor("weight")));
        layer.biased = bias == nullptr ? 0 : 1;
        layer.bias = bias == nullptr ? 0 : offsets_.at(planned.name_of(*bias));
    }

    std::uint32_t next_drop() { return num_drops_++; }

    std::vector<Layer> layers;
    std::uint32_t at() const { return at_; }    // where the last layer's output is
    std::uint32_t end() const { return end_; }  // floats of a row

private:
    std::map<std::string, std::uint32_t> offsets_;
    std::uint32_t at_ = 0, end_;
    std::uint32_t num_drops_ = 0;
};

template <Kind kKind>
void append_plain(Planner& planner, const PlannedLayer& planned) {
    planner.append_one(kKind, planned, [](Layer&) {});
}

template <Kind kKind>
void append_product(Planner& planner, const PlannedLayer& planned) {
    planner.append_one(kKind, planned, [&](Layer& layer) { planner.place_parameters(planned, layer); });
}

/// Positions of a sequence; 1 for a row.
std::uint32_t positions_of(const PlannedLayer& planned) {
    return planned.in.size() == 2 ? static_cast<std::uint32_t>(planned.in[0]) : 1;
}

void append_linear(Planner& planner, const PlannedLayer& planned) {
    planner.append_one(Kind::Linear, planned, [&](Layer& layer) {
        planner.place_parameters(planned, layer);
        layer.positions = positions_of(planned);
    });
}

void append_scale(Planner& planner, const PlannedLayer& planned) {
    planner.append_one(Kind::Scale, planned,
                       [&](Layer& layer) { layer.keep_scale = static_cast<float>(planned.arguments.number("by")); });
}

void append_convolution(Planner& planner, const PlannedLayer& planned) {
    planner.append_one(Kind::Convolution, planned, [&](Layer& layer) {
        planner.place_parameters(planned, layer);
        layer.kernel = argument(planned, "kernel");
        layer.stride = argument(planned, "stride");
        layer.padding = argument(planned, "padding");
    });
}

template <Kind kKind>
void append_pool(Planner& planner, const PlannedLayer& planned) {
    planner.append_one(kKind, planned, [&](Layer& layer) {
        const std::uint32_t size = argument(planned, "size");
        layer.kernel = size > 0 ? size : layer.in.height;
    });
}

template <Kind kKind>
void append_dropout(Planner& planner, const PlannedLayer& planned) {
    planner.append_one(kKind, planned, [&](Layer& layer) {
        const double p = planned.arguments.number("p");
        layer.drop_number = planner.next_drop();
        layer.drop_below = shared::dropout_threshold(p);
        layer.keep_scale = shared::dropout_scale(p);
    });
}

void append_group_norm(Planner& planner, const PlannedLayer& planned) {
    planner.append_one(Kind::Norm, planned, [&](Layer& layer) {
        planner.place_parameters(planned, layer);
        layer.groups = argument(planned, "groups");
        layer.other_at = planner.take(4 * layer.groups);
    });
}

void append_layer_norm(Planner& planner, const PlannedLayer& planned) {
    planner.append_one(Kind::Norm, planned, [&](Layer& layer) {
        planner.place_parameters(planned, layer);
        layer.by_value = 1;
        if (planned.arguments.flag("each_position")) layer.positions = layer.groups = positions_of(planned);
        layer.other_at = planner.take(4 * layer.groups);
    });
}

void append_residual(Planner& planner, const PlannedLayer& planned) { planner.append_residual(planned); }

void append_nothing(Planner&, const PlannedLayer&) {}

std::string_view convolution_lacks(const PlannedLayer& layer) {
    return layer.arguments.integer("groups") > 1 ? "conv2d with groups" : "";
}

std::string_view pool_lacks(const PlannedLayer& layer) {
    const PoolWindows windows = windows_of(layer.arguments);
    if (!windows.abut()) return "pools whose windows overlap, leave gaps or exceed the image";
    return windows.size == 0 && layer.in[1] != layer.in[2] ? "avg_pool over a whole image that is not square" : "";
}

std::string_view linear_lacks(const PlannedLayer& layer) {
    return low_rank_terms(layer.arguments).rank > 0 ? "linear with lora" : "";
}

const LayerTable<DeviceLayer>& device_layers() {
    static const LayerTable<DeviceLayer> table{{LayerKind::Linear, append_linear, linear_lacks},
                                               {LayerKind::Conv2d, append_convolution, convolution_lacks},
                                               {LayerKind::MaxPool, append_pool<Kind::MaxPool>, pool_lacks},
                                               {LayerKind::AvgPool, append_pool<Kind::AveragePool>, pool_lacks},
                                               {LayerKind::Relu, append_plain<Kind::Relu>},
                                               {LayerKind::Tanh, append_plain<Kind::Tanh>},
                                               {LayerKind::Gelu, append_plain<Kind::Gelu>},
                                               {LayerKind::Scale, append_scale},
                                               {LayerKind::Position, append_product<Kind::Position>},
                                               {LayerKind::LastPosition, append_plain<Kind::LastPosition>},
                                               {LayerKind::Dropout, append_dropout<Kind::Dropout>},
                                               {LayerKind::Dropout2d, append_dropout<Kind::ChannelDropout>},
                                               {LayerKind::Flatten, append_nothing},
                                               {LayerKind::GroupNorm, append_group_norm},
                                               {LayerKind::LayerNorm, append_layer_norm},
                                               {LayerKind::Residual, append_residual},
                                               {LayerKind::Embedding, append_product<Kind::Embedding>}};
    return table;
}

/// Bytes of `floats` floats, a multiple of four floats: each part of shared memory is aligned for loads of four.
std::uint64_t bytes_of(std::uint32_t floats) { return (std::uint64_t{floats} + 3) / 4 * 4 * sizeof(float); }

std::uint64_t row_bytes(const BlockNetwork& network) { return std::uint64_t{network.row} * sizeof(float) + sizeof(RowOutcome); }

/// The first layer that blocks cannot compute, also in residuals, and why: "batch_norm on a GPU (layer 1)"; empty: they compute all.
std::string first_lack(const Layers& layers) {
    for (const PlannedLayer& layer : layers) {
        const DeviceLayer* line = device_layers().find(layer.kind);
        const std::string_view lacking = line == nullptr          ? name_of(layer.kind)
                                         : line->lacks != nullptr ? line->lacks(layer)
                                                                  : std::string_view();
        if (!lacking.empty()) return fmt::format("{} on a GPU (layer {})", lacking, layer.number);
        for (const Layers* inner : {&layer.residual, &layer.shortcut})
            if (std::string within = first_lack(*inner); !within.empty()) return within;
    }
    return "";
}

}  // namespace

std::string misfit(const ModelSpec& spec) {
    if (std::string missing = direct::misfit(spec); !missing.empty()) return missing;
    return first_lack(plan_model(spec));
}

BlockPlan make_plan(const ModelSpec& spec) {
    if (const std::string missing = misfit(spec); !missing.empty())
        throw ConfigError(fmt::format("the direct engine has no {}", missing));
    const aggregation::Layout layout = model_layout(spec);
    if (layout.num_floats() > std::numeric_limits<std::int32_t>::max())
        throw ConfigError(fmt::format("the direct engine trains at most 2^31 parameters on a GPU, but the model has {}",
                                      layout.num_floats()));
    const auto inputs = static_cast<std::uint32_t>(spec.input.num_values());
    Planner planner(layout, inputs);
    planner.append(plan_model(spec));
    BlockPlan plan;
    plan.layers = std::move(planner.layers);
    plan.network.num_layers = static_cast<std::uint32_t>(plan.layers.size());
    plan.network.num_floats = static_cast<std::uint32_t>(layout.num_floats());
    plan.network.trainable = static_cast<std::uint32_t>(layout.num_trainable());
    plan.network.inputs = inputs;
    plan.network.row = planner.end() | 1U;
    plan.network.answers_at = planner.at();
    plan.network.outputs = plan.layers.back().out.size();
    return plan;
}

std::uint32_t least_bytes(const BlockNetwork& network) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(row_bytes(network), std::numeric_limits<std::uint32_t>::max()));
}

SharedPlacement place(const BlockNetwork& network, std::uint32_t batch, bool momentum, std::uint32_t shared_bytes) {
    const std::uint64_t row = row_bytes(network);
    const auto rows_in = [&](std::uint64_t bytes) {
        return static_cast<std::uint32_t>(std::min<std::uint64_t>(batch, bytes / row));
    };
    SharedPlacement placement;
    std::uint64_t left = shared_bytes;
    const std::uint64_t kept = std::min(kLeastRows, rows_in(left)) * row;
    const auto fits = [&](std::uint32_t floats) {
        const std::uint64_t bytes = bytes_of(floats);
        if (bytes + kept > left) return false;
        left -= bytes;
        return true;
    };
    placement.parameters = fits(network.num_floats);
    placement.gradient = fits(network.trainable);
    placement.velocity = momentum && fits(network.trainable);
    placement.group = rows_in(left);
    placement.bytes = static_cast<std::uint32_t>(shared_bytes - left + placement.group * row);
    return placement;
}

std::string too_large(const ModelSpec& spec, std::uint32_t shared_bytes) {
    const BlockPlan plan = make_plan(spec);
    const std::uint32_t least = least_bytes(plan.network);
    if (least <= shared_bytes) return "";
    return fmt::format(
        "keeps the values of an example in the shared memory of one multiprocessor: {} needs {} bytes, but this GPU has {}",
        spec.name.get(), least, shared_bytes);
}

}  // namespace fedhive::clients::direct::device
