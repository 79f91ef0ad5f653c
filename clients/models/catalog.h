// The named models, without LibTorch in sight: each is a list of layers and what may vary in it, in a file of its own. To add one: write its
// file, declare its function in catalog.cpp, and add it to the list there.
#pragma once

#include "aggregation/base/keys.h"
#include "aggregation/memory/layout.h"
#include "aggregation/memory/param_span.h"
#include "clients/data/dataset.h"
#include "clients/exported/model_file.h"
#include "clients/models/layer_list.h"
#include "clients/protocol/fixed_text.h"
#include "clients/protocol/name_patterns.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::clients {

/// Which model, for which data; plain data, since workers get it through the control block.
struct ModelSpec {
    FixedText<24> name;  // for messages: "mlp", kListedModel or kExportedModel
    ExampleShape input;
    std::int64_t num_classes = 0;
    LayerList layers;
    exported::FileHandle exported;  // in place of layers: a graph of torch.export; whoever made the handle keeps its file
    TargetShape target{};
    NamePatterns frozen{};   // parameters that nobody trains
    NamePatterns local{};    // parameters and buffers of which every client has its own
    bool as_layers = false;  // of a graph: it is run as the layers that it is made of (kept_as_graph() is empty)

    /// Run operation by operation, by LibTorch.
    bool is_graph() const { return exported.given() && !as_layers; }
};

/// What a model is called that the config gives as a list of layers.
inline constexpr const char* kListedModel = "model.layers";

/// And one that a file gives as a graph.
inline constexpr const char* kExportedModel = "model.file";

struct NamedModel {
    std::string name;
    std::string summary;  // half a line
    std::string source;   // paper or where it is used
    std::vector<KeySpec> keys;
    bool takes_tokens = false;                            // and nothing else; otherwise numbers alone
    LayerList (*layers)(const Values& values) = nullptr;  // values: of all keys
    /// Where there is a class to tell at each position; null: it tells one.
    LayerList (*layers_at_each)(const Values& values) = nullptr;
    bool tells_numbers = true;  // where targets are numbers, as many outputs
    bool tells_classes = true;  // a score for each
    /// What it takes and what else to use, where it does not take such examples; empty where it does, or where its layers say it themselves.
    std::string (*misfit)(const ExampleShape& input) = nullptr;
};

/// All named models, in the order of REFERENCE.md.
const std::vector<NamedModel>& model_catalog();

/// The model of that name for such data; keys that are not given have their defaults. Throws ConfigError for a name that is not in the
/// catalog, or a model that does not take such examples or tell such targets.
ModelSpec named_model(std::string_view name, const ExampleShape& input, std::int64_t num_classes, const Values& values = {},
                      TargetShape target = {});

/// Names, shapes and offsets of what is trained and travels, [P]: parameters that are not frozen, then buffers. Throws ConfigError (without file
/// and line) when the model's layers do not fit the data.
aggregation::Layout model_layout(const ModelSpec& spec);

/// Of the parameters that are frozen, [F]: those that spec.frozen names, and of a graph those that took no gradient when it was exported.
aggregation::Layout frozen_layout(const ModelSpec& spec);

/// Of both, parameters in the order in which they are drawn.
aggregation::Layout whole_layout(const ModelSpec& spec);

}  // namespace fedhive::clients
