// model.layers in YAML: a list of layers. A layer is a word (`relu`), a word with its first argument (`{linear: 50}`), or with
// all arguments (`{conv2d: {out: 10, kernel: 5}}`); a residual has a list of layers, and its shortcut another one. The kinds of
// layers: clients/models/layer_kind.h. Private to sim/config.
#pragma once

#include "sim/config/fields.h"
#include "sim/config/tree.h"

namespace fedhive::sim {

/// The parts of the config's reader that reading layers needs.
struct LayerReading {
    /// Reports a mistake at a node.
    std::function<void(const YamlNode& node, const std::string& path, const std::string& problem)> report;
    /// Reads the map `node`, whose keys `show` describes.
    std::function<void(const YamlNode& node, const std::string& path, const std::function<void(Visitor&)>& show)> section;
};

/// Reads the list into `layers`; reports mistakes.
void read_layers(const YamlNode& list, const std::string& path, clients::LayerList& layers, const LayerReading& reading);

/// The layers as YAML on one line, with every argument.
std::string text_of(const clients::LayerList& layers);

/// The tables of layers in REFERENCE.md.
std::string layers_markdown();

}  // namespace fedhive::sim
