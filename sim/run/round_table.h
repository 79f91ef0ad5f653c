// rounds.csv, clients.csv and arrivals.csv: their columns, one row a round, or one a client a round. To add a column, add its
// line to the list in round_table.cpp, at the end; `fedhive columns` prints all of them.
#pragma once

#include "clients/protocol/reports.h"
#include "clients/tasks/learning_task.h"
#include "sim/record/table.h"
#include "sim/round/flight.h"
#include "sim/round/round_record.h"
#include "sim/round/server_state.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::sim {

struct RoundOfRun {
    const RoundRecord& round;
    const Arrivals& arrived;
    const ServerState& server;
};

/// Columns at the end that only some runs have.
struct RoundExtras {
    bool epsilon = false;         // the accountant's
    bool attack_success = false;  // of a backdoor
    bool clip_norm = false;       // of adaptive_clip
};

/// The columns of rounds.csv, with those of the task's metrics: the usual ones, and those of `asked` (evaluation.metrics).
Table<RoundOfRun> rounds_csv(const clients::LearningTask& task, const std::vector<std::string>& asked = {},
                             RoundExtras extras = {});
/// Those of a run with this config.
Table<RoundOfRun> rounds_csv(const RunConfig& config);

struct ClientOfRound {
    const RoundRecord& round;
    const ClientReport& client;
    std::string_view owner{};
};

/// The columns of clients.csv. `with_owners`: with the client's name; `with_draws`: with how often it was drawn. The last ones are
/// the run's reports (sim/plan/run_reports.h).
Table<ClientOfRound> clients_csv(bool with_owners, const std::vector<clients::ReportSpec>& reports = {},
                                 bool with_draws = false);

struct ArrivalOfRound {
    std::int64_t round = 0;
    std::uint32_t client_id = 0;
};

Table<ArrivalOfRound> arrivals_csv();

}  // namespace fedhive::sim
