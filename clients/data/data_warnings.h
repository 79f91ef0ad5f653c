// Warnings about data that can be trained on but look like a mistake. They are shown at the start; nothing is refused.
#pragma once

#include "clients/data/dataset.h"

#include <optional>
#include <string>
#include <vector>

namespace fedhive::clients {

/// Warns if (n, height, width, channels) was probably read as (n, channels, height, width). It looks for square images of at least 8 pixels
/// a side with 1, 3 or 4 channels, and if values are bytes also for other images with 3 or 4 channels and sides of at least 16.
/// Key `train`.
std::vector<DataWarning> channels_last(const Examples& train);

/// Advice to append to a message about a wrong shape, "; if these are images with their channels last, mend it: x = x.transpose(0, 3, 1,
/// 2)"; empty if the shape does not look like channels-last images.
std::string channels_last_advice(const ExampleShape& shape);

/// Warns of classes that no training example has. Key `train`. Only for single classes per example, and not for tokens.
std::vector<DataWarning> missing_classes(const Dataset& dataset);

/// Warns if a channel of floats has a standard deviation above 20, estimated from at most 2^18 values (at least two examples).
/// Key `normalize`.
std::vector<DataWarning> large_values(const Examples& train);

/// Warns if the first column looks like an index: it has no name (or "Unnamed: …", which pandas writes) and distinct whole values. Key
/// `train`. In a file without names (`name` is none) the values must be 0, 1, 2 … or 1, 2, 3 …, over at least 20 rows. Reads 1,000 rows
/// at most.
std::vector<DataWarning> index_column(const Examples& train, const std::optional<std::string>& name);

}  // namespace fedhive::clients
