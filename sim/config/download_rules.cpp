#include "sim/config/download_rules.h"

#include "aggregation/memory/memories.h"
#include "clients/uploads/upload.h"
#include "sim/config/upload_rules.h"
#include "sim/modes/mode_spec.h"
#include "sim/strategies/local_rule.h"

#include <fmt/format.h>

#include <algorithm>

namespace fedhive::sim {

namespace {

/// Says what the strategy sends instead of one model for all clients; empty: it sends one model.
std::string other_models_of(const RunConfig& run) {
    for (const aggregation::MemorySpec& memory : local_rule_of(parts_of(run.strategy.name, run.strategy.parts)).memories) {
        if (memory.change == aggregation::MemoryChange::Mixed) return "each client a model of its own";
        if (memory.first == aggregation::FirstValue::Drawn) return "several models";
    }
    return "";
}

}  // namespace

void check_download(const RunConfig& run, const ConfigSource& source) {
    if (run.download.empty()) return;
    const auto refuse = [&](const std::string& problem) { throw source.error("download", problem); };
    if (!mode_spec(run.mode.name).whole_cohort)
        refuse(
            fmt::format("in mode '{}' clients start from models of other rounds, too, or from no model of the server's; remove "
                        "download, or use mode synchronous",
                        run.mode.name));
    if (const std::string other = other_models_of(run); !other.empty())
        refuse(fmt::format("compresses one model for all clients, but strategy '{}' sends {}; remove download",
                           run.strategy.title(), other));
    if (run.download.size() > clients::UploadPlan::kMostSteps)
        refuse(fmt::format("has {} steps; allowed: at most {}", run.download.size(), clients::UploadPlan::kMostSteps));
    check_compression(run.download, refuse);
    if (run.sends_changes()) return;
    for (std::size_t i = 0; i < run.download.size(); ++i)
        if (entry_of(clients::upload_catalog(), run.download[i].name, "step of an upload").leaves_out)
            refuse(fmt::format(
                "item {}: '{}' would set most parameters of the model to 0; add {{name: error_feedback}} before it, "
                "so that it takes the change of the model since what clients have",
                i, run.download[i].name));
}

}  // namespace fedhive::sim
