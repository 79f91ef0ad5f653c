// What probes found, kept from run to run: one small file for each machine and config, in $XDG_CACHE_HOME/fedhive or ~/.cache/fedhive.
// Losing it costs another probe, so nothing that goes wrong with it is an error.
#pragma once

#include "sim/plan/worker_choice.h"

#include <filesystem>
#include <optional>
#include <string>

namespace fedhive::sim {

class ChoiceCache {
public:
    /// `key`: all that the choice depends on, as text.
    explicit ChoiceCache(const std::string& key);

    /// Empty: never written, damaged, or not readable.
    std::optional<WorkerChoice> read() const;

    /// Whole or not at all; where it cannot be written, not at all.
    void write(const WorkerChoice& choice) const;

    /// Empty where neither XDG_CACHE_HOME nor HOME says where caches belong.
    const std::filesystem::path& file() const { return file_; }

private:
    std::filesystem::path file_;
};

}  // namespace fedhive::sim
