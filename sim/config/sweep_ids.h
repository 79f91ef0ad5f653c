// Ids of a sweep's runs. Private to sim/config.
#pragma once

#include "sim/config/sweep_config.h"

namespace fedhive::sim {

/// A short name per key, in order: the last part of its path ("lr"), with as many more parts as needed to be unique; the
/// section's name for a key that ends in `.name` ("strategy"); a key of `seeds` with its section ("seeds.partition").
std::vector<std::string> short_names(const std::vector<std::string>& keys);

/// "lr-0.1+clients-10+seed-2", for SweepRun::id. `names`: short names of the settings' keys. A setting without a name is a
/// case's: only its value is written ("wrong_way+seed-2"). A setting without a value is left out, and so is the seed, unless
/// with_seed or nothing else is left. Characters that are not allowed become '_'; then, or if the id is too long, a hash of the
/// whole is appended.
std::string run_id(const std::vector<std::string>& names, const std::vector<Setting>& settings, std::uint64_t seed,
                   bool with_seed);

/// The id with a hash of `text` appended.
std::string hashed_id(const std::string& id, const std::string& text);

}  // namespace fedhive::sim
