// The table of the device's layers: which layers of a model thread blocks compute, and by which of their own.
#include "clients/direct/device/block_planner.h"
#include "clients/direct/shared_rules.h"

#include <fmt/format.h>

#include <cmath>

namespace fedhive::clients::direct::device {

namespace {

std::uint32_t argument(const PlannedLayer& layer, const std::string& key) {
    return static_cast<std::uint32_t>(layer.arguments.integer(key));
}

template <Kind kKind>
void append_plain(Planner& planner, const PlannedLayer& planned) {
    planner.append_one(kKind, planned);
}

template <Kind kKind>
void append_weighted(Planner& planner, const PlannedLayer& planned) {
    planner.append_one(kKind, planned, [&](Layer& layer) { planner.place_parameters(planned, layer); });
}

/// Positions of a sequence; 1 for a row.
std::uint32_t positions_of(const PlannedLayer& planned) {
    return planned.in.size() == 2 ? static_cast<std::uint32_t>(planned.in[0]) : 1;
}

/// Directions of a recurrent layer.
std::uint32_t ways_of(const PlannedLayer& planned) { return planned.arguments.flag("bidirectional") ? 2 : 1; }

/// A product of each position's features with one of a layer's tensors, with low-rank factors `factors` + "A" and "B" if it has them.
struct Product {
    std::uint32_t positions = 1, in = 1, out = 1;
    std::string weight = "weight", bias = "bias", factors{};
};

void append_weight(Planner& planner, const PlannedLayer& planned, const Product& product) {
    planner.append_one(Kind::Linear, flat(product.positions * product.in), flat(product.positions * product.out),
                       [&](Layer& layer) {
                           planner.place_parameters(planned, layer, product.weight, product.bias);
                           layer.positions = product.positions;
                       });
}

void append_factor(Planner& planner, std::uint32_t size, double factor) {
    planner.append_one(Kind::Scale, flat(size), flat(size),
                       [&](Layer& layer) { layer.keep_scale = static_cast<float>(factor); });
}

/// The factors are the second path of a sum.
void append_product(Planner& planner, const PlannedLayer& planned, const Product& product) {
    const std::string a = product.factors + "A", b = product.factors + "B";
    if (planned.find_tensor(a) == nullptr) return append_weight(planner, planned, product);
    const LowRankTerms factors = low_rank_terms(planned.arguments);
    Product down = product, up = product;
    down.out = up.in = static_cast<std::uint32_t>(factors.rank);
    down.weight = a;
    up.weight = b;
    down.bias = up.bias = "";
    planner.append_sum(
        flat(product.positions * product.in), flat(product.positions * product.out),
        [&] { append_weight(planner, planned, product); },
        [&] {
            append_weight(planner, planned, down);
            if (factors.scale != 1.0) append_factor(planner, down.positions * down.out, factors.scale);
            append_weight(planner, planned, up);
        });
}

void append_linear(Planner& planner, const PlannedLayer& planned) {
    append_product(planner, planned,
                   {.positions = positions_of(planned),
                    .in = static_cast<std::uint32_t>(planned.in.back()),
                    .out = static_cast<std::uint32_t>(planned.fit.out.back())});
}

void append_scale(Planner& planner, const PlannedLayer& planned) {
    append_factor(planner, extent_of(planned.in).size(), planned.arguments.number("by"));
}

void append_convolution(Planner& planner, const PlannedLayer& planned) {
    planner.append_one(Kind::Convolution, planned, [&](Layer& layer) {
        planner.place_parameters(planned, layer);
        layer.kernel = argument(planned, "kernel");
        layer.stride = argument(planned, "stride");
        layer.padding = argument(planned, "padding");
    });
}

void append_channel_shuffle(Planner& planner, const PlannedLayer& planned) {
    planner.append_one(Kind::ChannelShuffle, planned, [&](Layer& layer) { layer.groups = argument(planned, "groups"); });
}

template <Kind kKind>
void append_pool(Planner& planner, const PlannedLayer& planned) {
    planner.append_one(kKind, planned, [&](Layer& layer) {
        const std::uint32_t size = argument(planned, "size");
        layer.kernel = size > 0 ? size : layer.in.height;
    });
}

/// Values are dropped with probability p, by the network's dropout layer `number`.
void drop(Layer& layer, double p, std::uint32_t number) {
    layer.drop_number = number;
    layer.drop_below = shared::dropout_threshold(p);
    layer.keep_scale = shared::dropout_scale(p);
}

template <Kind kKind>
void append_dropout(Planner& planner, const PlannedLayer& planned) {
    planner.append_one(kKind, planned, [&](Layer& layer) { drop(layer, planned.arguments.number("p"), planner.next_drop()); });
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

void append_batch_norm(Planner& planner, const PlannedLayer& planned) {
    planner.append_one(Kind::BatchNorm, planned, [&](Layer& layer) {
        planner.place_parameters(planned, layer);
        layer.running_mean = planner.place_of(planned, "running_mean");
        layer.running_variance = planner.place_of(planned, "running_var");
        layer.other_at = planner.take(BatchNormLayer::kFigures * layer.in.channels);
    });
}

void append_residual(Planner& planner, const PlannedLayer& planned) {
    const std::function<void()> shortcut = [&] { planner.append(planned.shortcut); };
    planner.append_sum(
        extent_of(planned.in), extent_of(planned.fit.out), [&] { planner.append(planned.residual); },
        planned.shortcut.empty() ? nullptr : shortcut);
}

/// Queries, keys and values come from one product, or from three.
void append_attention(Planner& planner, const PlannedLayer& planned) {
    const auto positions = positions_of(planned), features = static_cast<std::uint32_t>(planned.in[1]);
    const auto append = [&](const std::string& tensor, std::uint32_t from, std::uint32_t out) {
        planner.go_to(from);
        const std::string end = tensor == "in_proj" ? "_" : ".";
        append_product(planner, planned,
                       {.positions = positions,
                        .in = features,
                        .out = out,
                        .weight = tensor + end + "weight",
                        .bias = tensor + end + "bias",
                        .factors = tensor + "."});
        return planner.at();
    };
    std::uint32_t queries = 0, keys = 0, values = 0, pitch = features;
    if (planned.find_tensor("in_proj_weight") != nullptr) {
        pitch = 3 * features;
        queries = append("in_proj", planner.at(), pitch);
        keys = queries + features;
        values = keys + features;
    } else {
        const std::uint32_t x = planner.at(), first = planner.fork(flat(positions * features)),
                            second = planner.fork(flat(positions * features));
        values = append("v_proj", second, features);
        keys = append("k_proj", first, features);
        queries = append("q_proj", x, features);
    }
    const std::uint32_t heads = argument(planned, "heads"), width = features / heads;
    planner.go_to(queries);
    planner.append_one(Kind::Attention, planned, [&](Layer& layer) {
        layer.keys_at = keys;
        layer.values_at = values;
        layer.pitch = pitch;
        layer.positions = positions;
        layer.groups = heads;
        layer.causal = planned.arguments.flag("causal") ? 1 : 0;
        layer.score_scale = static_cast<float>(std::sqrt(1.0 / static_cast<double>(width)));
        layer.other_at = planner.take(AttentionLayer::figures_of(positions, features, heads));
        if (const double p = planned.arguments.number("dropout"); p > 0.0) drop(layer, p, planner.next_drop());
    });
    append("out_proj", planner.at(), features);
}

/// One of a recurrent layer's stacked layers, `number`, in all directions: joins their states.
template <typename Unit>
void append_level(Planner& planner, const PlannedLayer& planned, std::uint32_t number, std::uint32_t in) {
    const std::uint32_t positions = positions_of(planned), hidden = argument(planned, "hidden"), ways = ways_of(planned);
    const std::uint32_t x = planner.at(), copy = ways == 2 ? planner.fork(flat(positions * in)) : x,
                        states = planner.take(positions * ways * hidden);
    for (std::uint32_t way = 0; way < ways; ++way) {
        const std::string end = fmt::format("_l{}{}", number, way == 0 ? "" : "_reverse");
        planner.go_to(way == 0 ? x : copy);
        append_product(planner, planned,
                       {.positions = positions,
                        .in = in,
                        .out = Unit::kGates * hidden,
                        .weight = "weight_ih" + end,
                        .bias = "bias_ih" + end});
        Layer layer;
        layer.kind = Unit::kSeparate ? Kind::Gru : Kind::Lstm;
        layer.in = flat(positions * Unit::kGates * hidden);
        layer.out = flat(positions * hidden);
        layer.in_at = planner.at();
        layer.out_at = states + way * hidden;
        planner.place_parameters(planned, layer, "weight_hh" + end, "bias_hh" + end);
        layer.positions = positions;
        layer.hidden = hidden;
        layer.pitch = ways * hidden;
        layer.backwards = way;
        layer.other_at = planner.take(RecurrentLayer<Unit>::figures_of(positions, hidden));
        planner.append_placed(layer);
    }
    planner.go_to(states);
}

template <typename Unit>
void append_recurrent(Planner& planner, const PlannedLayer& planned) {
    const std::uint32_t levels = argument(planned, "layers"), positions = positions_of(planned), ways = ways_of(planned),
                        features = ways * argument(planned, "hidden");
    const double p = planned.arguments.number("dropout");
    for (std::uint32_t level = 0; level < levels; ++level) {
        append_level<Unit>(planner, planned, level, level == 0 ? static_cast<std::uint32_t>(planned.in[1]) : features);
        if (p > 0.0 && level + 1 < levels)
            planner.append_one(Kind::Dropout, flat(positions * features), flat(positions * features),
                               [&](Layer& layer) { drop(layer, p, planner.next_drop()); });
    }
    if (planned.arguments.flag("all_positions")) return;
    planner.append_one(Kind::LastPosition, flat(positions * features), flat(features),
                       [&](Layer& layer) { layer.groups = ways; });
}

void append_nothing(Planner&, const PlannedLayer&) {}

std::string_view convolution_lacks(const PlannedLayer& layer) {
    return layer.arguments.integer("groups") > 1 ? "conv2d with groups" : "";
}

std::string_view pool_lacks(const PlannedLayer& layer) {
    const PoolWindows windows = windows_of(layer.arguments);
    if (!windows.abut()) return "pools whose windows overlap, leave gaps or exceed the image";
    return windows.size == 0 && layer.in[1] != layer.in[2] ? "avg_pool over a whole image that is not square" : "";
}

}  // namespace

const LayerTable<DeviceLayer>& device_layers() {
    static const LayerTable<DeviceLayer> table{{LayerKind::Linear, append_linear},
                                               {LayerKind::Conv2d, append_convolution, convolution_lacks},
                                               {LayerKind::ChannelShuffle, append_channel_shuffle},
                                               {LayerKind::MaxPool, append_pool<Kind::MaxPool>, pool_lacks},
                                               {LayerKind::AvgPool, append_pool<Kind::AveragePool>, pool_lacks},
                                               {LayerKind::Relu, append_plain<Kind::Relu>},
                                               {LayerKind::Tanh, append_plain<Kind::Tanh>},
                                               {LayerKind::Gelu, append_plain<Kind::Gelu>},
                                               {LayerKind::Scale, append_scale},
                                               {LayerKind::Attention, append_attention},
                                               {LayerKind::Lstm, append_recurrent<LstmUnit>},
                                               {LayerKind::Gru, append_recurrent<GruUnit>},
                                               {LayerKind::Position, append_weighted<Kind::Position>},
                                               {LayerKind::LastPosition, append_plain<Kind::LastPosition>},
                                               {LayerKind::Mean, append_plain<Kind::Mean>},
                                               {LayerKind::Dropout, append_dropout<Kind::Dropout>},
                                               {LayerKind::Dropout2d, append_dropout<Kind::ChannelDropout>},
                                               {LayerKind::Flatten, append_nothing},
                                               {LayerKind::GroupNorm, append_group_norm},
                                               {LayerKind::LayerNorm, append_layer_norm},
                                               {LayerKind::BatchNorm, append_batch_norm},
                                               {LayerKind::Residual, append_residual},
                                               {LayerKind::Embedding, append_weighted<Kind::Embedding>}};
    return table;
}

}  // namespace fedhive::clients::direct::device
