// Warnings: what can run but looks like a mistake; shown before round 1, one line each with the key to look at.
#pragma once

#include "clients/data/dataset.h"
#include "clients/models/catalog.h"
#include "sim/config/run_config.h"

#include <string>
#include <vector>

namespace fedhive::sim {

/// "privacy.delta: …" if δ is so large that it allows to publish a client as it is; else empty.
std::string delta_warning(const RunConfig& config);

/// "data.root_examples: …" if the server has examples that its strategy does not use; else empty.
std::string root_warning(const RunConfig& config);

/// "device: …" if the config leaves the device open, and its model.file could train on a GPU that is there; else empty. asked: of the config.
std::string device_warning(Device asked, const clients::ModelSpec& model);

/// Warnings about loaded data: those of their format, classes without examples, large values that nothing normalises.
std::vector<clients::DataWarning> data_warnings(const DataConfig& config, const clients::Dataset& dataset);

/// "data.train: no training example has label 0 of 11; …": the data's warnings, except those that the model makes void, and the
/// model's own.
std::vector<std::string> all_warnings(const std::vector<clients::DataWarning>& of_data, const clients::ModelSpec& model);

}  // namespace fedhive::sim
