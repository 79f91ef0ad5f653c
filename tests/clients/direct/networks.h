// Networks for suites of the direct engine, on the host and by one thread block.
#pragma once

#include "aggregation/base/random.h"
#include "tests/support/small_model.h"

#include <vector>

namespace fedhive::testing {

inline constexpr clients::ExampleShape kInput{2, 9, 8};
inline constexpr clients::ExampleShape kTokens{6, 1, 1, 9};  // some more than once in a batch

/// Draws one value of an example; a token id for kTokens.
inline float draw_value(const clients::ExampleShape& shape, Stream& stream) {
    return shape.vocabulary > 0 ? static_cast<float>(stream.below(static_cast<std::uint64_t>(shape.vocabulary)))
                                : static_cast<float>(stream.normal());
}

/// Every operation and both losses, in orders that are fused and in orders that are not. Smooth for finite differences, apart
/// from pools and ReLUs.
inline std::vector<clients::ModelSpec> networks() {
    clients::LayerList pooled, strided, residual, rows, dropped, plain_pool;
    pooled.add("conv2d", {6, 3, 1, 1}).add("relu").add("max_pool", {2}).add("conv2d", {17, 2}).add("max_pool", {2});
    pooled.add("flatten").add("linear", {12}).add("relu").add("linear");
    strided.add("conv2d", {18, 3, 2, 1}).add("tanh").add("conv2d", {4, 2, 1, 1}).add("group_norm", {2}).add("avg_pool", {2});
    strided.add("flatten").add("layer_norm").add("linear");
    residual.add("conv2d", {4, 3, 1, 1}).add("residual").add("conv2d", {4, 3, 1, 1}).add("relu");
    residual.add("residual").add("tanh").end().end().add("max_pool", {3}).add("flatten").add("linear");
    rows.add("flatten").add("linear", {16}).add("relu").add("residual").add("linear", {16}).add("relu").end().add("linear");
    dropped.add("dropout2d", {0.3F}).add("conv2d", {5, 3}).add("dropout2d", {0.5F}).add("max_pool", {2}).add("relu");
    dropped.add("dropout", {0.4F}).add("flatten").add("linear", {9}).add("dropout", {0.5F}).add("linear");
    plain_pool.add("max_pool", {2}).add("relu").add("conv2d", {3, 1}).add("flatten").add("linear");
    clients::LayerList shortcuts, beside;
    shortcuts.add("conv2d", {6, 3, 1, 1, 1, 0}).add("group_norm", {2}).add("relu").add("residual");
    shortcuts.add("conv2d", {20, 3, 2, 1, 1, 0}).add("group_norm", {4}).add("relu").add("conv2d", {20, 3, 1, 1}).shortcut();
    shortcuts.add("conv2d", {20, 1, 2, 0, 1, 0}).add("group_norm", {5}).end().add("relu").add("avg_pool").add("flatten");
    shortcuts.add("residual").add("linear", {9}).add("tanh").shortcut().add("dropout", {0.3F}).add("linear", {9}).end();
    shortcuts.add("residual").add("flatten").shortcut().add("tanh").end().add("linear");
    beside.add("residual").add("conv2d", {5, 3, 1, 1, 1, 0}).add("max_pool", {2}).shortcut();
    beside.add("max_pool", {2}).add("residual").add("conv2d", {5, 1}).shortcut().add("conv2d", {5, 3, 1, 1}).add("tanh");
    beside.end().end().add("flatten").add("linear");
    clients::LayerList grey;
    grey.add("conv2d", {18, 3, 1, 1}).add("dropout2d", {0.3F}).add("max_pool", {2}).add("relu").add("conv2d", {6, 2, 1, 1});
    grey.add("relu").add("max_pool", {2}).add("flatten").add("linear");
    clients::LayerList tokens, head, sum_first;
    head.add("conv2d", {5, 3}).add("relu").add("conv2d", {5, 1}).add("avg_pool", {6}).add("flatten");
    sum_first.add("flatten").add("residual").add("flatten").shortcut().add("layer_norm").add("tanh").end().add("linear");
    tokens.add("embedding", {5, 0}).add("tanh").add("layer_norm").add("flatten").add("linear", {12}).add("relu").add("linear");
    return {listed_model(pooled, kInput, 5),       listed_model(strided, kInput, 5),   listed_model(residual, kInput, 5),
            listed_model(rows, kInput, 5),         listed_model(dropped, kInput, 5),   listed_model(plain_pool, kInput, 5),
            listed_model(shortcuts, {3, 8, 8}, 5), listed_model(beside, kInput, 5),    listed_regression(pooled, kInput, 3),
            listed_regression(strided, kInput, 1), listed_model(tokens, kTokens, 5),   listed_model(grey, {1, 9, 8}, 5),
            listed_model(head, kInput, 5),         listed_regression(head, kInput, 5), listed_model(sum_first, kInput, 5)};
}

/// Networks with Winograd convolutions: each padding, odd and even sizes, with and without ReLU and bias, before pools. Some
/// exceed the shared memory of a thread block.
inline std::vector<clients::ModelSpec> tiled_networks() {
    clients::LayerList tiled, pools;
    tiled.add("conv2d", {16, 3, 1, 1}).add("tanh").add("conv2d", {32, 3}).add("relu").add("conv2d", {16, 3, 1, 2, 1, 0});
    tiled.add("group_norm", {1}).add("conv2d", {16, 3, 1, 1}).add("group_norm", {2}).add("max_pool", {3});
    tiled.add("flatten").add("linear");
    pools.add("conv2d", {16, 3, 1, 1}).add("tanh").add("conv2d", {32, 3, 1, 1}).add("dropout2d", {0.3F}).add("max_pool", {2});
    pools.add("relu").add("conv2d", {16, 3, 1, 1, 1, 0}).add("max_pool", {2}).add("flatten").add("layer_norm").add("linear");
    return {listed_model(tiled, kInput, 5), listed_model(pools, {2, 11, 10}, 5)};
}

/// All networks above, which thread blocks train, too.
inline std::vector<clients::ModelSpec> block_networks() {
    std::vector<clients::ModelSpec> all = networks();
    for (clients::ModelSpec& spec : tiled_networks()) all.push_back(std::move(spec));
    clients::LayerList positions, rows, shuffled;
    shuffled.add("channel_shuffle", {2}).add("conv2d", {12, 1}).add("channel_shuffle", {3}).add("residual");
    shuffled.add("channel_shuffle", {4}).add("conv2d", {12, 3, 1, 1}).add("tanh").end().add("channel_shuffle", {6});
    shuffled.add("flatten").add("linear");
    all.push_back(listed_model(shuffled, kInput, 5));
    positions.add("embedding", {6}).add("position").add("residual").add("layer_norm", {1}).add("linear", {17}).add("gelu");
    positions.add("linear", {6, 0}).end().add("scale", {-1.5F}).add("dropout", {0.3F}).add("layer_norm", {1});
    positions.add("linear", {5}).add("mean").add("linear");
    rows.add("flatten").add("linear", {12, 0}).add("gelu").add("scale", {0.25F}).add("linear");
    all.push_back(listed_model(positions, kTokens, 4));
    all.push_back(listed_model(rows, kInput, 5));
    return all;
}

/// Batch norm of images and of rows: first and last, with and without ReLU, in residuals and shortcuts, beside Winograd and pools.
inline std::vector<clients::ModelSpec> batch_norm_networks() {
    clients::LayerList images, blocks, rows;
    images.add("batch_norm").add("conv2d", {16, 3, 1, 1, 1, 0}).add("batch_norm").add("relu").add("max_pool", {2});
    images.add("conv2d", {5, 2}).add("batch_norm").add("flatten").add("linear");
    blocks.add("conv2d", {16, 3, 1, 1, 1, 0}).add("batch_norm").add("relu").add("residual");
    blocks.add("conv2d", {32, 3, 2, 1, 1, 0})
        .add("batch_norm")
        .add("relu")
        .add("conv2d", {32, 3, 1, 1, 1, 0})
        .add("batch_norm");
    blocks.shortcut().add("conv2d", {32, 1, 2, 0, 1, 0}).add("batch_norm").end().add("relu").add("avg_pool", {2});
    blocks.add("flatten").add("dropout", {0.3F}).add("batch_norm").add("linear");
    rows.add("flatten").add("linear", {17}).add("batch_norm").add("relu").add("residual").add("batch_norm").add("linear", {17});
    rows.end().add("tanh").add("batch_norm");
    return {listed_model(images, kInput, 5), listed_model(blocks, kInput, 5), listed_model(rows, kInput, 17),
            listed_regression(rows, kInput, 17)};
}

/// Layers on sequences, and GELU: attention of one and of several heads, causal or not; features that fill lanes and some that do not.
inline std::vector<clients::ModelSpec> sequence_networks() {
    clients::LayerList transformer, plain, images;
    const std::vector<float> each{1.0F}, causal{3.0F, 1.0F};
    transformer.add("embedding", {18, 0})
        .add("position")
        .add("residual")
        .add("layer_norm", each)
        .add("attention", causal)
        .end();
    transformer.add("residual").add("layer_norm", each).add("linear", {40}).add("gelu").add("linear", {18}).end();
    transformer.add("layer_norm", each).add("last_position").add("linear");
    plain.add("embedding", {16, 0})
        .add("attention", {1})
        .add("linear", {5})
        .add("relu")
        .add("position")
        .add("layer_norm", each);
    plain.add("attention", {5, 1, 0.25F}).add("dropout", {0.3F}).add("flatten").add("gelu").add("linear");
    images.add("gelu").add("conv2d", {16, 3, 1, 1}).add("gelu").add("max_pool", {2}).add("flatten").add("linear");
    clients::LayerList deep, one;
    deep.add("embedding", {5, 0}).add("lstm", {17, 2, 1}).add("residual").add("lstm", {17, 1, 1}).end().add("lstm", {16, 2});
    deep.add("linear");
    one.add("embedding", {16, 0}).add("dropout", {0.3F}).add("lstm", {7}).add("relu").add("linear");
    clients::LayerList gated, both_ways, last_of_both;
    gated.add("embedding", {5, 0})
        .add("gru", {17, 2, 1})
        .add("residual")
        .add("gru", {17, 1, 1})
        .end()
        .add("gru", {16, 3, 0, 0, 0.3F});
    gated.add("linear");
    both_ways.add("embedding", {5, 0}).add("gru", {9, 2, 1, 1}).add("lstm", {6, 2, 0, 1, 0.3F}).add("linear");
    last_of_both.add("embedding", {3, 0}).add("tanh").add("lstm", {17, 1, 1, 1}).add("gru", {4, 1, 0, 1}).add("linear");
    return {
        listed_model(deep, kTokens, 5),  listed_regression(one, kTokens, 3),       listed_model(transformer, kTokens, 5),
        listed_model(plain, kTokens, 5), listed_model(images, kInput, 5),          listed_regression(transformer, kTokens, 3),
        listed_model(gated, kTokens, 5), listed_regression(both_ways, kTokens, 3), listed_model(last_of_both, kTokens, 5)};
}

/// Convolutions in groups: depth-wise ones of one and of several outputs a channel, strided and not, with and without bias, ReLU and
/// padding; dense and Winograd ones, before a pool, too; channels shuffled between them.
inline std::vector<clients::ModelSpec> grouped_networks() {
    clients::LayerList depthwise, multiplied, groups, tiled;
    depthwise.add("conv2d", {18, 1, 1, 0, 1, 0}).add("batch_norm").add("tanh").add("conv2d", {18, 3, 2, 1, 18, 0});
    depthwise.add("batch_norm").add("tanh").add("conv2d", {5, 1}).add("conv2d", {5, 3, 1, 1, 5}).add("relu").add("flatten");
    depthwise.add("linear");
    multiplied.add("conv2d", {6, 3, 1, 0, 2}).add("tanh").add("conv2d", {18, 4, 3, 2, 6}).add("relu").add("residual");
    multiplied.add("conv2d", {18, 5, 1, 2, 18}).add("tanh").end().add("flatten").add("linear");
    groups.add("conv2d", {6, 3, 1, 1, 2}).add("relu").add("max_pool", {2}).add("conv2d", {9, 2, 2, 1, 3, 0}).add("tanh");
    groups.add("flatten").add("linear");
    tiled.add("conv2d", {32, 3, 1, 1, 2}).add("relu").add("conv2d", {32, 3, 1, 1, 2}).add("tanh").add("avg_pool");
    tiled.add("flatten").add("linear");
    clients::LayerList shuffled;
    shuffled.add("conv2d", {12, 1}).add("channel_shuffle", {3}).add("conv2d", {12, 3, 1, 1, 12}).add("relu").add("residual");
    shuffled.add("conv2d", {12, 1, 1, 0, 2}).add("channel_shuffle", {2}).end().add("channel_shuffle", {4}).add("flatten");
    shuffled.add("linear");
    return {listed_model(shuffled, kInput, 5), listed_model(depthwise, kInput, 5), listed_model(multiplied, kInput, 5),
            listed_model(groups, kInput, 5), listed_model(tiled, {2, 6, 5}, 5)};
}

/// Pools whose windows overlap, leave gaps or exceed the image, and of whole images that are not square.
inline std::vector<clients::ModelSpec> pool_networks() {
    clients::LayerList overlapping, apart, whole;
    overlapping.add("conv2d", {6, 3, 1, 1}).add("relu").add("max_pool", {3, 2, 1}).add("tanh").add("avg_pool", {3, 1, 1});
    overlapping.add("flatten").add("linear");
    apart.add("conv2d", {5, 1}).add("max_pool", {2, 3}).add("conv2d", {17, 1}).add("avg_pool", {2, 3, 1}).add("flatten");
    apart.add("linear");
    whole.add("conv2d", {3, 2}).add("tanh").add("max_pool", {2, 1}).add("avg_pool").add("flatten").add("linear");
    return {listed_model(overlapping, kInput, 5), listed_model(apart, kInput, 5), listed_model(whole, kInput, 5)};
}

/// Winograd convolutions with so many weights that they use memory in turn; with `one`, a single one.
inline clients::ModelSpec wide_convolutions(bool one = false) {
    clients::LayerList layers;
    layers.add("conv2d", {128, 1, 2}).add("conv2d", {144, 3, 1, 1}).add(one ? "relu" : "tanh");
    if (!one) layers.add("residual").add("conv2d", {144, 3, 1, 1, 1, 0}).end().add("conv2d", {128, 3});
    return listed_model(layers.add("avg_pool").add("flatten").add("linear"), kInput, 5);
}

/// Low-rank factors beside linear layers and attention, by key and as the other path of a residual, scaled and not, before a ReLU,
/// first and last; layers without bias; constants.
inline std::vector<clients::ModelSpec> low_rank_networks() {
    clients::LayerList rows, paths, sequence;
    rows.add("flatten").add("linear", {17, 1, 3, 6}).add("relu").add("scale", {0.5F}).add("linear", {16, 0, 18}).add("tanh");
    rows.add("linear", {0, 1, 2});
    paths.add("flatten").add("residual").add("linear", {20}).shortcut().add("linear", {4, 0}).add("linear", {20, 0});
    paths.add("scale", {-2}).end().add("relu").add("residual").add("linear", {3, 0}).add("linear", {7, 0}).shortcut();
    paths.add("linear", {7, 0}).end().add("tanh").add("residual").add("linear", {7}).shortcut().add("linear", {4, 0});
    paths.add("linear", {7})
        .end()
        .add("residual")
        .add("linear", {5})
        .shortcut()
        .add("linear", {2, 0})
        .add("linear", {5, 0})
        .end();
    sequence.add("embedding", {6, 0}).add("residual").add("attention", {2, 1, 0, 3, 4}).end().add("residual");
    sequence.add("linear", {18, 1, 4})
        .add("gelu")
        .add("linear", {6, 0, 2, 5})
        .end()
        .add("residual")
        .add("linear", {5})
        .shortcut();
    sequence.add("linear", {2, 0}).add("linear", {5, 0}).end().add("relu").add("last_position").add("linear");
    return {listed_model(rows, kInput, 5), listed_regression(rows, kInput, 3), listed_model(paths, kInput, 5),
            listed_model(sequence, kTokens, 5)};
}

/// All networks above.
inline std::vector<clients::ModelSpec> all_networks() {
    std::vector<clients::ModelSpec> all = block_networks();
    for (clients::ModelSpec& spec : batch_norm_networks()) all.push_back(std::move(spec));
    for (clients::ModelSpec& spec : sequence_networks()) all.push_back(std::move(spec));
    for (clients::ModelSpec& spec : grouped_networks()) all.push_back(std::move(spec));
    for (clients::ModelSpec& spec : pool_networks()) all.push_back(std::move(spec));
    for (clients::ModelSpec& spec : low_rank_networks()) all.push_back(std::move(spec));
    return all;
}

/// A value of a drawn tensor; variances are positive.
inline float draw_parameter(const aggregation::LayoutEntry& entry, double deviation, Stream& stream) {
    const double value = deviation * stream.normal();
    return static_cast<float>(entry.name.ends_with(".running_var") ? 0.5 + value * value : value);
}

}  // namespace fedhive::testing
