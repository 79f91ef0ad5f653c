// `fedhive sweep`: reads the file, estimates its runs, shows the plan, runs it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fedhive::sim {

struct SweepCommand {
    std::filesystem::path file;          // may be empty with `resume`
    std::vector<std::string> overrides;  // of the base config
    std::filesystem::path out;           // empty: results/runs/<name>-<date>-<time>
    std::filesystem::path resume;        // folder of a sweep to resume; empty: a new one
    int jobs = 0;                        // runs at once on each host; 0: as many as cores and memory allow
    bool dry_run = false;                // only show the plan
    bool quiet = false;
};

/// Exit status: 0 all runs ended as planned, 1 some failed, 130 interrupted. Throws ConfigError before anything is started.
int sweep_command(const SweepCommand& command);

}  // namespace fedhive::sim
