// The models by name, without LibTorch in sight: what the coordinator needs to lay out the arena and to fill in the first global model.
#pragma once

#include "aggregation/memory/layout.h"
#include "aggregation/memory/param_span.h"
#include "clients/data/dataset.h"
#include "clients/protocol/fixed_text.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace fedhive::clients {

/// In the order of REFERENCE.md.
inline constexpr std::array<std::string_view, 4> kModelNames{"lr", "mlp", "mnist_cnn", "cnn_m"};

/// Which model, for which data; plain data, since workers get it through the control block.
struct ModelSpec {
    FixedText<32> name;
    ExampleShape input;
    std::int64_t num_classes = 0;
    bool dropout = true;        // mnist_cnn, cnn_m
    std::int64_t hidden = 200;  // mlp: units in each of its two hidden layers
};

/// Names, shapes and offsets of the model's tensors. Throws ConfigError (without file and line) when the model does not fit the input shape.
aggregation::Layout model_layout(const ModelSpec& spec);

/// Writes the model's initial tensors (PyTorch's default initialisation, from the seed) into a host span of layout.num_floats().
/// Padding is left as it is.
void initial_parameters(const ModelSpec& spec, const aggregation::Layout& layout, std::uint64_t seed,
                        aggregation::ParamSpan to);

}  // namespace fedhive::clients
