// The subcommands, one function each. A function returns the exit code: 0 done, 1 the run failed, 2 a mistake that the user can mend, 130
// interrupted.
#pragma once

#include "sim/app/replay.h"

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::sim {

/// Later than any round.
inline constexpr std::int64_t kNoRound = std::numeric_limits<std::int64_t>::max();

struct RunOptions {
    std::filesystem::path config;        // may be empty with `resume`
    std::vector<std::string> overrides;  // "key.path=value"
    std::filesystem::path out;           // empty: make_default_run_folder()
    std::filesystem::path resume;        // folder of a run to resume; empty: a new run
    bool allow_other_bits = false;       // for a resumed run
    std::int64_t until = kNoRound;       // pause after this round
    bool overwrite = false;
    bool quiet = false;
};

int run_command(const RunOptions& options);

struct ValidateOptions {
    std::filesystem::path config;
    std::vector<std::string> overrides;
    std::uint32_t ranks = 0;  // number of ranks to check for; 0: the number that were started
    bool json = false;
};

/// If started as several ranks, they also compare all that must be the same on each; rank 0 prints.
int validate_command(const ValidateOptions& options);
int show_config_command(const std::filesystem::path& config, const std::vector<std::string>& overrides);
int show_model_command(const std::filesystem::path& config, const std::vector<std::string>& overrides);

struct PartitionOptions {
    std::filesystem::path config;
    std::vector<std::string> overrides;
    std::filesystem::path csv;   // output path of partition.csv; empty: beside `plot`, or none
    std::filesystem::path plot;  // output path of the drawing; empty: none
};

/// Prints the partition. With `plot` it does not return: scripts/report draws.
int partition_command(const PartitionOptions& options);

struct PrivacyOptions {
    std::filesystem::path config;  // may be empty if the others are given
    std::vector<std::string> overrides;
    std::optional<double> multiplier, epsilon, share, delta;  // epsilon: in place of the multiplier
    std::optional<std::int64_t> rounds;
    std::uint64_t restart_every = 0;  // by the config, with dp_ftrl
};

/// Prints ε, and the multiplier if `epsilon` is given. Does not return if scripts/privacy exists, which goes on and prints the ε of
/// dp-accounting.
int privacy_command(const PrivacyOptions& options);
/// Prints the catalog of methods by family; or, with `name`, all about one method; or, with `page`, that family's page of docs/methods. Throws
/// ConfigError for an unknown name.
int methods_command(const std::string& name, const std::string& page);

/// Prints a method file as it is read: its keys, memories and formulas. With `compares`, also compares the results of its formulas with those
/// of its functions in Python, and returns 1 if they differ. Throws ConfigError for a file that is no method.
int method_command(const std::filesystem::path& given, bool compares = false);
int evaluate_command(const std::filesystem::path& run_folder, bool json);
int replay_command(const ReplayOptions& options);
int reference_command();
int columns_command(bool json);
int doctor_command(bool json);

}  // namespace fedhive::sim
