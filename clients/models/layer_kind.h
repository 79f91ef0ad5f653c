// What a kind of layer is, without LibTorch in sight: its arguments, what it makes of a shape, its parameters. To add one: write its function in
// a file of clients/models/layers, add its line to layer_catalog.cpp, and its forward pass to forward.cpp.
#pragma once

#include "aggregation/base/keys.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fedhive::clients {

/// Of one example, without the batch: [channels, height, width], or [features]; of a sequence [tokens], and [positions, features].
using Shape = std::vector<std::int64_t>;

std::string text_of(const Shape& shape);  // "3 x 32 x 32"
double num_values(const Shape& shape);

/// How PyTorch draws a tensor by default.
enum class Initial : std::uint8_t {
    Kaiming,  // uniform within 1 / sqrt(fan_in), by the formula of Kaiming's rule, whose last bits differ
    FanIn,    // uniform within 1 / sqrt(fan_in)
    Normal,   // of mean 0 and variance 1
    Xavier,   // of a matrix: uniform within sqrt(6 / (fan_in + fan_out)), Xavier Glorot's rule
    Ones,
    Zeros
};

struct Parameter {
    std::string name;  // "weight"
    Shape shape;
    Initial initial = Initial::Zeros;
    double fan_in = 0.0;  // inputs of one output
    bool frozen = false;  // nobody trains it: no part of what travels
};

/// A layer where its input's shape is known.
struct LayerFit {
    Shape out;
    std::vector<Parameter> parameters;
    double flops = 0.0;  // of the forward pass, for one example: each multiplication, addition and elementary function is one
    std::vector<Parameter> buffers{};  // what training moves without a gradient: part of the model and of its update
};

struct LayerKind {
    std::string name;
    std::string torch;    // the class in torch.nn
    std::string summary;  // what it does, what it takes and gives
    std::vector<KeySpec> keys;
    bool holds_layers = false;  // residual
    bool takes_tokens = false;  // embedding: its optional argument is the number of tokens that the data know

    /// Throws ConfigError (what comes in, what it needs) where it does not fit. `arguments`: all keys.
    LayerFit (*fit)(const Values& arguments, const Shape& in) = nullptr;
};

/// All kinds, in the order of REFERENCE.md.
const std::vector<LayerKind>& layer_catalog();

/// A value as a list of layers holds it; 0 for an integer left out, 0 or 1 for a flag.
float argument_of(const KeyValue& value);
inline float default_argument(const KeySpec& key) { return argument_of(key.default_value); }

// What kinds have in common.

/// An integer that must be given; `low` and what it is.
KeySpec integer_key(std::string name, double low, std::string doc);
KeySpec integer_key(std::string name, double low, std::int64_t default_value, std::string doc);

/// A function of each value: the shape stays.
LayerFit fit_each_value(const Values& arguments, const Shape& in);

/// Throws ConfigError for what is no image: [channels, height, width].
void require_image(const Shape& in);

/// Throws ConfigError for what is not [positions, features].
void require_sequence(const Shape& in);

/// Throws ConfigError for [positions, features].
void require_no_sequence(const Shape& in);

/// Of `outputs` weights of `shape` with so many inputs each, and their biases.
std::vector<Parameter> weight_and_bias(Shape shape, double fan_in);

}  // namespace fedhive::clients
