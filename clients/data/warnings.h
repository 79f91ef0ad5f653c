// What can be read and trained on, and looks like a mistake all the same. Nothing is refused for it: who starts a run is told.
#pragma once

#include "clients/data/dataset.h"

#include <optional>
#include <string>
#include <vector>

namespace fedhive::clients {

/// Images of (n, height, width, channels), read as (n, channels, height, width): square ones of 1, 3 or 4 channels, and of bytes also others with 3 or
/// 4, 16 pixels or more each way. Key `train`.
std::vector<DataWarning> channels_last(const Examples& train);

/// "; if these are images with their channels last, mend it: x = x.transpose(0, 3, 1, 2)", behind a message about a shape that does not fit; empty
/// where they look like none.
std::string channels_last_advice(const ExampleShape& shape);

/// The classes from 0 that no training example has. Key `train`. Of labels that are single classes, and of no tokens; else nothing.
std::vector<DataWarning> missing_classes(const Dataset& dataset);

/// Warns if a channel of floats has a standard deviation above 20, estimated from at most 2^18 values, or two examples. Key `normalize`.
std::vector<DataWarning> large_values(const Examples& train);

/// A first column that has no name, or that of pandas for none, and counts rows: its values are whole and differ from row to row. Key `train`. Where no
/// column has a `name` the values are 0, 1, 2 … or 1, 2, 3 … row by row. Looks at 1,000 rows at most.
std::vector<DataWarning> index_column(const Examples& train, const std::optional<std::string>& name);

}  // namespace fedhive::clients
