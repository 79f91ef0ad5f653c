// Groups of the updates of a round.
#pragma once

#include <cstddef>
#include <vector>

namespace fedhive::aggregation {

/// The indices of the updates in each group, ascending; no group is empty, and an update may be in several.
using Groups = std::vector<std::vector<std::size_t>>;

}  // namespace fedhive::aggregation
