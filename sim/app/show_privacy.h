// The output of `fedhive privacy`: ε of given noise, or the noise for a given ε, without data and without a run.
#pragma once

#include "sim/app/commands.h"
#include "sim/privacy/accountant.h"

#include <string>
#include <vector>

namespace fedhive::sim {

/// All inputs of the privacy accountant.
struct PrivacyQuestion {
    double multiplier = 1.0;  // standard deviation of the noise / clip norm
    double share = 1.0;       // cohort / clients
    std::uint64_t rounds = 1;
    double delta = 0.0;
    std::optional<double> target{};   // an ε: the multiplier is then the smallest that reaches it
    std::uint64_t restart_every = 0;  // rounds of a tree of dp_ftrl; 0: no tree

    /// The number of noisy sums whose privacy losses add up.
    std::uint64_t compositions() const { return restart_every > 0 ? tree_nodes(rounds, restart_every) : rounds; }
};

/// The inputs from a config's privacy, upload, cohort and rounds; an option that is given replaces the config's value. Throws ConfigError if
/// an input is missing, or if no multiplier gives the ε.
PrivacyQuestion privacy_question(const PrivacyOptions& options);

/// The inputs, a line each, and ε by Rényi differential privacy.
std::string privacy_text(const PrivacyQuestion& question);

/// The arguments of scripts/privacy, which computes ε by dp-accounting.
std::vector<std::string> privacy_arguments(const PrivacyQuestion& question);

}  // namespace fedhive::sim
