// Small sweeps to plan, write and resume; their runs differ by the client rate.
#pragma once

#include "sim/config/load_config.h"
#include "sim/sweep/sweep_record.h"
#include "tests/support/temporary_folder.h"

#include <fmt/format.h>

#include <fstream>
#include <string>
#include <vector>

namespace fedhive::testing {

inline constexpr const char* kRate = "training.optimizer.lr";

/// A run's id and its overrides.
struct PlannedRun {
    std::string id;
    std::vector<std::string> overrides;
};

inline sim::SweepConfig sweep_of(const std::filesystem::path& base, const std::vector<PlannedRun>& runs) {
    sim::SweepConfig sweep;
    sweep.name = "small";
    sweep.file = base;
    sweep.keys = {kRate};
    for (const PlannedRun& run : runs) {
        const sim::LoadedConfig loaded = sim::load_config(base, run.overrides);
        const std::string rate = fmt::format("{}", loaded.run.training.optimizer.values.number("lr"));
        sweep.runs.push_back({run.id, {{kRate, rate}}, loaded.run, loaded.source, false});
    }
    return sweep;
}

inline void write_text(const std::filesystem::path& file, const std::string& text) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
}

}  // namespace fedhive::testing
