// The targets y of a NumPy archive: classes, classes per position, or numbers.
#pragma once

#include "clients/data/dataset.h"
#include "clients/data/formats/npz_archive.h"

#include <cstdint>
#include <string>

namespace fedhive::clients {

/// Reads y into the part's target, labels or numbers; `count` is the number of examples in x. `rounded` becomes true if y was
/// f64. `file` is for messages. Throws ConfigError as read_npz().
void read_targets(const NpzArchive& archive, const std::string& file, TargetKind wanted, Examples& part, std::uint64_t count,
                  bool& rounded);

}  // namespace fedhive::clients
