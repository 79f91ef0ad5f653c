// The subcommands, each as a function that returns the exit code: 0 done, 1 the run failed, 2 the user can mend it, 130 interrupted.
#pragma once

#include "sim/app/replay.h"

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

namespace fedhive::sim {

/// Later than any round.
inline constexpr std::int64_t kNoRound = std::numeric_limits<std::int64_t>::max();

struct RunOptions {
    std::filesystem::path config;        // may be empty with `resume`
    std::vector<std::string> overrides;  // "key.path=value"
    std::filesystem::path out;           // empty: make_default_run_folder()
    std::filesystem::path resume;        // folder of a run to go on with; empty: a new run
    bool allow_other_bits = false;       // of a resumed run
    std::int64_t until = kNoRound;       // pause after this round
    bool overwrite = false;
    bool quiet = false;
};

int run_command(const RunOptions& options);

struct ValidateOptions {
    std::filesystem::path config;
    std::vector<std::string> overrides;
    std::uint32_t ranks = 0;  // as so many would run it; 0: as many as were started
    bool json = false;
};

/// Started as ranks, all of them also compare what they must have in common, and the first one speaks.
int validate_command(const ValidateOptions& options);
int show_config_command(const std::filesystem::path& config, const std::vector<std::string>& overrides);
int show_model_command(const std::filesystem::path& config, const std::vector<std::string>& overrides);

struct PartitionOptions {
    std::filesystem::path config;
    std::vector<std::string> overrides;
    std::filesystem::path csv;   // where to write partition.csv; empty: beside `plot`, or nowhere
    std::filesystem::path plot;  // where to draw it; empty: nowhere
};

/// Prints how the examples are dealt. With `plot` it does not return: scripts/report draws.
int partition_command(const PartitionOptions& options);
int evaluate_command(const std::filesystem::path& run_folder, bool json);
int replay_command(const ReplayOptions& options);
int reference_command();
int doctor_command(bool json);

}  // namespace fedhive::sim
