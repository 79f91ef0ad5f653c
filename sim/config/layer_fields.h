// model.layers in YAML: a list, each layer a word (`relu`), a word with its first argument (`{linear: 50}`) or with all of them
// (`{conv2d: {out: 10, kernel: 5}}`); a residual has a list of its own, and one more for its shortcut beside it. What layers there are: clients/models/layer_kind.h. Private to
// sim/config.
#pragma once

#include "sim/config/fields.h"
#include "sim/config/tree.h"

namespace fedhive::sim {

/// What reading layers needs of the config's reader.
struct LayerReading {
    /// A mistake at a node.
    std::function<void(const Node& node, const std::string& path, const std::string& problem)> report;
    /// The keys that `show` describes are those of the map `node`.
    std::function<void(const Node& node, const std::string& path, const std::function<void(Visitor&)>& show)> section;
};

/// Reads the list into `layers`; reports what is wrong.
void read_layers(const Node& list, const std::string& path, clients::LayerList& layers, const LayerReading& reading);

/// As YAML on one line, with every argument.
std::string text_of(const clients::LayerList& layers);

/// The tables of layers in REFERENCE.md.
std::string layers_markdown();

}  // namespace fedhive::sim
