// The features of a model: the inputs of its last layer with parameters.
#pragma once

#include "clients/models/catalog.h"

#include <cstddef>
#include <string>

namespace fedhive::clients {

struct FeatureLayer {
    std::size_t features = 0;  // inputs of the last layer with parameters
    std::string problem{};     // why the model has none, in words that follow "the model "; else empty
};

/// A model has features if it is a list of layers, its last layer with parameters is linear on flat input, and another layer with
/// parameters comes before that one.
FeatureLayer feature_layer(const ModelSpec& spec);

}  // namespace fedhive::clients
