// The output of `fedhive privacy`: ε of given noise, or the noise for a given ε, without data and without a run.
#pragma once

#include "sim/app/commands.h"
#include "sim/privacy/accountant.h"

#include <string>
#include <vector>

namespace fedhive::sim {

/// All inputs of the accountant.
struct PrivacyQuestion {
    double multiplier = 1.0;
    double share = 1.0;
    std::uint64_t rounds = 1;
    double delta = 0.0;
    std::optional<double> target{};   // the multiplier is the least for this ε
    std::uint64_t restart_every = 0;  // of dp_ftrl's tree; 0: there is none

    std::uint64_t compositions() const { return restart_every > 0 ? tree_nodes(rounds, restart_every) : rounds; }
};

/// From a config's privacy, upload, cohort and rounds, each replaced by an option that is given. Throws ConfigError if something
/// is missing, or if no multiplier gives the ε.
PrivacyQuestion privacy_question(const PrivacyOptions& options);

/// The values, a line each, and ε by RDP.
std::string privacy_text(const PrivacyQuestion& question);

/// The arguments of scripts/privacy, which answers with dp-accounting.
std::vector<std::string> privacy_arguments(const PrivacyQuestion& question);

}  // namespace fedhive::sim
