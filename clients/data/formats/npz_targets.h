// y of a NumPy archive: a class of each example, a class at each of its positions, or numbers.
#pragma once

#include "clients/data/dataset.h"
#include "clients/data/formats/npz_archive.h"

#include <cstdint>
#include <string>

namespace fedhive::clients {

/// Labels or numbers of the part, and what kind they are, for as many examples as x has. `rounded` becomes true where they were f64. `file` is
/// for messages. Throws ConfigError as read_npz().
void read_targets(const NpzArchive& archive, const std::string& file, TargetKind wanted, Examples& part, std::uint64_t count,
                  bool& rounded);

}  // namespace fedhive::clients
