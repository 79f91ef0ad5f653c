// The kinds of layers, without LibTorch: name, arguments, output shape, parameters. To add one, add its value and its name here, write its
// function in a file of clients/models/layers, and add its line to layer_catalog.cpp. Each engine has a table (layer_table.h) with a
// line for each kind that it computes.
#pragma once

#include "aggregation/base/keys.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::clients {

/// In the order of layer_catalog().
enum class LayerKind : std::uint8_t {
    Linear,
    Conv2d,
    MaxPool,
    AvgPool,
    ChannelShuffle,
    Relu,
    Tanh,
    Gelu,
    Scale,
    Dropout,
    Dropout2d,
    Flatten,
    BatchNorm,
    GroupNorm,
    LayerNorm,
    Residual,
    Embedding,
    Lstm,
    Gru,
    Position,
    Attention,
    LastPosition,
    Mean
};

/// The kinds' names in a config.
inline constexpr auto kLayerNames = std::to_array<std::string_view>(
    {"linear",    "conv2d",  "max_pool",  "avg_pool", "channel_shuffle", "relu",          "tanh",       "gelu",
     "scale",     "dropout", "dropout2d", "flatten",  "batch_norm",      "group_norm",    "layer_norm", "residual",
     "embedding", "lstm",    "gru",       "position", "attention",       "last_position", "mean"});
inline constexpr std::size_t kNumLayerKinds = kLayerNames.size();
static_assert(kNumLayerKinds == static_cast<std::size_t>(LayerKind::Mean) + 1);

constexpr std::string_view name_of(LayerKind kind) { return kLayerNames[static_cast<std::size_t>(kind)]; }

/// Shape of one example, without the batch: [channels, height, width] or [features]; for a
/// sequence [tokens] or [positions, features].
using Shape = std::vector<std::int64_t>;

std::string text_of(const Shape& shape);  // "3 x 32 x 32"
double num_values(const Shape& shape);

/// How PyTorch draws a tensor by default.
enum class Initial : std::uint8_t {
    Kaiming,  // uniform within ±1 / sqrt(fan_in), by the formula of Kaiming's rule, whose last bits differ
    FanIn,    // uniform within ±1 / sqrt(fan_in)
    Normal,   // mean 0, variance 1
    Xavier,   // a matrix, uniform within ±sqrt(6 / (fan_in + fan_out)), Xavier Glorot's rule
    Ones,
    Zeros
};

struct Parameter {
    std::string name;  // "weight"
    Shape shape;
    Initial initial = Initial::Zeros;
    double fan_in = 0.0;  // inputs of one output
    bool frozen = false;  // not trained, and not part of what travels
    bool factor = false;  // of key `lora`
    std::string path{};   // whole name in an exported network; empty: that of the layer, a dot, `name`
};

/// A layer's output and tensors for a known input shape.
struct LayerFit {
    Shape out;
    std::vector<Parameter> parameters;
    double flops = 0.0;  // forward pass of one example; each multiplication, addition and elementary function counts 1
    std::vector<Parameter> buffers{};  // tensors that training changes without a gradient; part of model and update
    double kept = 0.0;  // values that training keeps of an example besides the output: gates, attention shares, their gradients
};

struct LayerSpec {
    LayerKind kind = LayerKind::Linear;
    std::string name = std::string(name_of(kind));
    std::string torch;    // the class in torch.nn
    std::string summary;  // what it computes, with the shapes of input and output
    std::vector<KeySpec> keys;
    bool holds_layers = false;  // it has layers inside (residual)
    bool takes_tokens = false;  // embedding: its optional argument is the vocabulary size, by default the data's

    /// Output and tensors for input shape `in`. Throws ConfigError (actual and required input) if it does not
    /// fit. `arguments` must have all keys.
    LayerFit (*fit)(const Values& arguments, const Shape& in) = nullptr;
};

/// All kinds, in the order of LayerKind and of REFERENCE.md.
const std::vector<LayerSpec>& layer_catalog();
inline const LayerSpec& layer_spec(LayerKind kind) { return layer_catalog()[static_cast<std::size_t>(kind)]; }

/// A value in the form of ListedLayer::arguments: 0 for an integer left out, 0 or 1 for a flag.
float argument_of(const KeyValue& value);
inline float default_argument(const KeySpec& key) { return argument_of(key.default_value); }

/// The windows of a pool, size × size pixels; size 0: one window, the whole image.
struct PoolWindows {
    std::int64_t size = 0, stride = 0, padding = 0;

    /// Whether the windows are side by side: no pixel is in two of them, and none is outside the image.
    bool abut() const { return stride == size && padding == 0; }
};
PoolWindows windows_of(const Values& arguments);

/// Low-rank factors beside a weight W [out, in], whose product is W + scale · B A (Hu et al. 2022, arXiv:2106.09685).
struct LowRankTerms {
    std::int64_t rank = 0;  // 0: none
    double scale = 1.0;     // alpha / rank
};
LowRankTerms low_rank_terms(const Values& arguments);

// Helpers that kinds share.

/// The keys `lora` and `alpha`.
std::vector<KeySpec> low_rank_keys(const std::string& beside);

/// Adds the factors "A" and "B" of a weight [out, in] that acts on `rows` vectors of an example, after `prefix`. Nothing without
/// a rank. Throws ConfigError for an alpha without it.
void add_low_rank(LayerFit& fit, const Values& arguments, const std::string& prefix, std::int64_t in, std::int64_t out,
                  double rows);

/// The key of a required integer >= `low`; the second overload has a default.
KeySpec integer_key(std::string name, double low, std::string doc);
KeySpec integer_key(std::string name, double low, std::int64_t default_value, std::string doc);

/// The fit of an element-wise function: the shape stays.
LayerFit fit_each_value(const Values& arguments, const Shape& in);

/// Throws ConfigError unless `in` is an image, [channels, height, width].
void require_image(const Shape& in);

/// Throws ConfigError unless `in` is [positions, features].
void require_sequence(const Shape& in);

/// Throws ConfigError if `in` is [positions, features].
void require_no_sequence(const Shape& in);

/// A weight of `shape` with `fan_in` inputs for each output, and a bias of shape[0].
std::vector<Parameter> weight_and_bias(Shape shape, double fan_in);

}  // namespace fedhive::clients
