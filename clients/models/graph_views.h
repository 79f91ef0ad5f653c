// Readers of a graph's operations that only arrange an example's values: views, flatten, and channel shuffles made of them.
#pragma once

#include "clients/models/graph_values.h"

namespace fedhive::clients {

/// Reads an operation that gives a sequence's values in another order, or that takes such values. Returns false for another one.
bool read_arrangement(GraphValues& values, GraphCall& call);

/// A product of two sizes.
void read_product_of_sizes(GraphValues& values, GraphCall& call);

void read_flatten(GraphValues& values, GraphCall& call);
void read_view(GraphValues& values, GraphCall& call);
void read_channel_shuffle(GraphValues& values, GraphCall& call);

/// Of a view with groups of channels.
void read_turned(GraphValues& values, GraphCall& call, GraphValues::Grouped grouped);

}  // namespace fedhive::clients
