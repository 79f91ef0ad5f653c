// What can be run and looks like a mistake: told before round 1, a line each with the key to look at.
#pragma once

#include "clients/data/dataset.h"
#include "clients/models/catalog.h"
#include "sim/config/config.h"

#include <string>
#include <vector>

namespace fedhive::sim {

/// Of the data as they are read: those that their format has found, classes that nobody shows, values far from 1 that nothing normalises.
std::vector<clients::DataWarning> data_warnings(const DataConfig& config, const clients::Dataset& dataset);

/// "data.train: no training example has label 0 of 11; …": those of the data but for what the model mends itself, and the model's own.
std::vector<std::string> all_warnings(const std::vector<clients::DataWarning>& of_data, const clients::ModelSpec& model);

}  // namespace fedhive::sim
