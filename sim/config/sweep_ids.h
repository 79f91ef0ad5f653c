// The names of a sweep's runs. Private to sim/config.
#pragma once

#include "sim/config/sweep_config.h"

namespace fedhive::sim {

/// A short name for each key, in order: the last part of its path ("lr"), as many more as set it apart from the other keys'; a key that ends
/// in `.name` is called by its section ("strategy"), one of `seeds` with it ("seeds.partition").
std::vector<std::string> short_names(const std::vector<std::string>& keys);

/// "lr-0.1+clients-10+seed-2": what SweepRun::id is; `names` are the short names of the settings' keys. A setting without a name is that of a
/// case, whose value alone is told: "wrong_way+seed-2". A setting without a value is left out;
/// so is the seed, unless it is given or nothing else is there. Characters that do not fit become '_', which a hash of the whole makes good
/// at the end, as it does where the rest is too long.
std::string run_id(const std::vector<std::string>& names, const std::vector<Setting>& settings, std::uint64_t seed,
                   bool with_seed);

/// The id with a hash of `text` at its end.
std::string hashed_id(const std::string& id, const std::string& text);

}  // namespace fedhive::sim
