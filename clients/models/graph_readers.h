// The table of a graph's operations that are read as layers. A reader asks a call for its arguments, and keeps in the values
// what layers compute the same.
#pragma once

#include "clients/models/graph_values.h"

namespace fedhive::clients {

/// Throws NoLayer for arguments that no layer has.
using GraphReader = void (*)(GraphValues& values, GraphCall& call);

/// Null for an operation that is no layer.
GraphReader graph_reader(const std::string& target);

/// Whether the operation gives the states of a recurrent layer, several values.
bool gives_states(const std::string& target);

/// Whether the operation writes in place, such as relu_.
bool is_in_place(const std::string& target);

}  // namespace fedhive::clients
