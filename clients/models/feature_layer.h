// The features of a model: what its last layer with parameters gets.
#pragma once

#include "clients/models/catalog.h"

#include <cstddef>
#include <string>

namespace fedhive::clients {

struct FeatureLayer {
    std::size_t features = 0;  // inputs of the last layer with parameters
    std::string problem{};     // why the model has none, in words that follow "the model "; else empty
};

/// A model has features if it is a list of layers of which the last with parameters is a linear one on flat features, behind another
/// layer with parameters.
FeatureLayer feature_layer(const ModelSpec& spec);

}  // namespace fedhive::clients
