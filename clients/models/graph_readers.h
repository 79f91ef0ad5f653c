// The table of a graph's operations that can be read as layers. A reader queries the arguments of a call (graph_call.h) and records in the
// values (graph_values.h) the layers that compute the same.
#pragma once

#include "clients/models/graph_values.h"

namespace fedhive::clients {

/// Throws NoLayer for arguments that no layer has.
using GraphReader = void (*)(GraphValues& values, GraphCall& call);

/// The reader of an operation; null for an operation that is no layer.
GraphReader graph_reader(const std::string& target);

/// Whether the operation returns the states of a recurrent layer, which are several values.
bool gives_states(const std::string& target);

/// Whether the operation writes in place, such as relu_.
bool is_in_place(const std::string& target);

}  // namespace fedhive::clients
