// The named models, without LibTorch. Each has a file with its list of layers and the keys that vary it. To add one, write its
// file, declare its function in catalog.cpp, and add it to the list there.
#pragma once

#include "aggregation/base/keys.h"
#include "aggregation/memory/layout.h"
#include "aggregation/memory/param_span.h"
#include "clients/data/dataset.h"
#include "clients/exported/shared_model_file.h"
#include "clients/models/layer_list.h"
#include "clients/protocol/fixed_text.h"
#include "clients/protocol/name_patterns.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::clients {

/// A model and the shape of its data; plain data, since workers get it through the control block.
struct ModelSpec {
    FixedText<24> name;  // for messages: "mlp", kListedModel or kExportedModel
    ExampleShape input;
    std::int64_t num_classes = 0;
    LayerList layers;
    exported::ModelFileHandle exported;  // instead of layers: a graph of torch.export; a SharedModelFile must keep the bytes
    TargetShape target{};
    NamePatterns frozen{};   // parameters that are not trained
    NamePatterns local{};    // parameters and buffers that stay with each client
    bool as_layers = false;  // run the graph as the list of layers that it is equal to (kept_as_graph() is empty)

    /// Whether LibTorch runs the model operation by operation.
    bool is_graph() const { return exported.given() && !as_layers; }
};

/// Name of a model that the config gives as a list of layers.
inline constexpr const char* kListedModel = "model.layers";

/// Name of a model that a file gives as a graph.
inline constexpr const char* kExportedModel = "model.file";

struct NamedModel {
    std::string name;
    std::string summary;  // half a line
    std::string source;   // its paper, or the work that uses it
    std::vector<KeySpec> keys;
    bool takes_tokens = false;                            // true: examples of tokens only; false: of numbers only
    LayerList (*layers)(const Values& values) = nullptr;  // `values` must have all keys
    /// The layers for a class at each position; null: the model gives one class for an example.
    LayerList (*layers_at_each)(const Values& values) = nullptr;
    bool tells_numbers = true;  // can have numeric targets: one output for each number
    bool tells_classes = true;  // can have class targets: one score for each class
    /// Why the model does not accept such examples, and an alternative. Empty if it does, or if plan_model() reports it.
    std::string (*misfit)(const ExampleShape& input) = nullptr;
};

/// All named models, in the order of REFERENCE.md.
const std::vector<NamedModel>& model_catalog();

/// The named model for such data; missing keys get their defaults. Throws ConfigError for an unknown name, or for a model that
/// is not made for such examples or targets.
ModelSpec named_model(std::string_view name, const ExampleShape& input, std::int64_t num_classes, const Values& values = {},
                      TargetShape target = {});

/// The layout of the tensors that travel: parameters that are not frozen, then buffers. Its num_floats() is P in other headers. Throws
/// ConfigError (without file and line) when the model's layers do not fit the data.
aggregation::Layout model_layout(const ModelSpec& spec);

/// The layout of the frozen parameters: those that spec.frozen names, and in a graph those without a gradient when it was exported. Its
/// num_floats() is F in other headers.
aggregation::Layout frozen_layout(const ModelSpec& spec);

/// The layout of both together, parameters in the order in which they are drawn.
aggregation::Layout whole_layout(const ModelSpec& spec);

}  // namespace fedhive::clients
