// The only voice of a run: what is shown, and what is written down. One record per round, a manifest at the start and at the end.
#pragma once

#include "sim/console.h"
#include "sim/experiment.h"
#include "sim/round_record.h"
#include "sim/run_folder.h"

#include <nlohmann/json.hpp>

namespace fedhive::sim {

class Reporter {
public:
    /// Shows the plan and writes the first manifest, with exit_status "running".
    Reporter(const Experiment& run, RunFolder& folder, bool quiet);

    /// The live line, to be kept while rounds run; it may not outlive the fleet.
    [[nodiscard]] Console::LiveLine start_rounds(const Fleet& fleet);
    RoundRecord begin(const ServerState& server) const;
    void report(const RoundRecord& round, const Arrivals& arrived, const ServerState& server);

    /// Writes the model and the last manifest, says where the results are.
    void finish();

    /// After a failure or an interrupt: the event and the manifest; the tables keep what was reported before.
    void failed(const clients::ClientFailure& failure);
    void stopped(const std::string& exit_status, const std::string& message);

private:
    void write_manifest(const std::string& exit_status);
    nlohmann::json final_hash() const;

    const Experiment& run_;
    RunFolder& folder_;
    Console console_;
    std::string started_;
    std::int64_t start_ns_;
    std::array<double, kNumPhases> phase_seconds_{};
    std::optional<Metrics> last_test_;
};

}  // namespace fedhive::sim
