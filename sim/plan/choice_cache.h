// Cache of probe results: one small file for each machine and config, in $XDG_CACHE_HOME/fedhive or ~/.cache/fedhive. Losing it
// costs another probe, so no failure of the cache is an error.
#pragma once

#include "sim/plan/worker_choice.h"

#include <filesystem>
#include <optional>
#include <string>

namespace fedhive::sim {

class ChoiceCache {
public:
    /// `key`: everything that the choice depends on, as text.
    explicit ChoiceCache(const std::string& key);

    /// The cached choice; empty if never written, damaged, or unreadable.
    std::optional<WorkerChoice> read() const;

    /// Writes the file atomically; does nothing if it cannot be written.
    void write(const WorkerChoice& choice) const;

    /// Empty if neither XDG_CACHE_HOME nor HOME is set.
    const std::filesystem::path& file() const { return file_; }

private:
    std::filesystem::path file_;
};

}  // namespace fedhive::sim
