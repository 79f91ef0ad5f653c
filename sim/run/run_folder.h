// Writes the files of a run (described in results/README.md): tables grow by whole rows; other files are written beside their
// place and renamed.
#pragma once

#include "clients/data/shared_dataset.h"
#include "clients/tasks/learning_task.h"
#include "sim/config/run_config.h"
#include "sim/record/append_file.h"
#include "sim/record/run_lock.h"
#include "sim/record/utc_time.h"
#include "sim/round/round_record.h"
#include "sim/round/server_state.h"
#include "sim/run/round_table.h"
#include "sim/state/checkpoint.h"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::sim {

/// Version of the files' schema, in the manifest. Columns are only ever appended.
inline constexpr int kResultSchema = 1;

class RunFolder {
public:
    /// For a new run: writes config.yaml first, so that the run can be resumed from then on, and empty tables. A
    /// `first_checkpoint` (its bytes) is written even before, since config.yaml may name a model file that goes away. `owners`:
    /// the clients' names, the last column of their tables; empty: no such column.
    RunFolder(RunLock lock, const RunConfig& config, const std::string& first_checkpoint, std::vector<std::string> owners = {});

    /// For a resumed run: opens the files as they are.
    RunFolder(RunLock lock, const RunConfig& config, std::vector<std::string> owners = {});

    const std::filesystem::path& path() const { return lock_.folder(); }
    std::filesystem::path logs() const { return path() / "logs"; }

    /// Goes back to the checkpoint that recorded `tables` after round `round`, or to the beginning: cuts the tables there and
    /// torn lines off the events; removes temporary files, a final model, and client metrics of a later round. Before this
    /// call, write a manifest that says that the run goes on.
    void go_back_to(const TablePositions& tables, std::int64_t round);

    /// Appends a row of rounds.csv, the rows of clients.csv, and, if clients were evaluated, of fairness.csv; then also
    /// rewrites client_accuracy.csv (named after the task's main metric).
    void add_round(const RoundRecord& round, const Arrivals& arrived, const ServerState& server);

    /// One line of events.jsonl; the time is added.
    void add_event(const std::string& event, const nlohmann::json& details);
    void write_manifest(const nlohmann::ordered_json& manifest) const;
    void write_config(const RunConfig& config) const;

    /// Writes partition.csv, which expect_whole_tables() checks from then on.
    void add_partition(const clients::SharedDataset& dataset, const clients::FeatureSkew& skew);

    /// Syncs the tables to the disk; returns their ends. Throws as expect_whole_tables().
    TablePositions sync_tables();

    /// Throws Fault naming a table that was cut, removed or replaced since it was opened.
    void expect_whole_tables() const;

private:
    void make_folders() const;
    const clients::Metric& metric() const { return task_.main_metric(); }
    void add_clients_test(std::int64_t round, const ClientsTest& test);

    RunLock lock_;
    const clients::LearningTask& task_;
    std::vector<std::string> owners_;  // per client; empty: clients have no names
    Table<RoundOfRun> rounds_table_;
    std::vector<clients::ReportSpec> reports_;
    bool has_draws_;
    Table<ClientOfRound> clients_table_;  // with the names, if the file has them
    Table<ArrivalOfRound> arrivals_table_ = arrivals_csv();
    AppendFile rounds_;
    AppendFile clients_;
    AppendFile events_;
    AppendFile arrivals_;                  // empty on the virtual clock, where the order needs no record
    std::optional<AppendFile> partition_;  // from add_partition() on
    std::optional<AppendFile> fairness_;   // if clients are evaluated on held-out examples
};

/// Throws ConfigError if the tables in a folder cannot be cut back to `tables`: their columns, or the rows up to there, do not
/// match a run of this config with `rounds` finished rounds (at least one).
void check_tables(const std::filesystem::path& folder, const TablePositions& tables, std::int64_t rounds,
                  const RunConfig& config);

/// Number of whole rows in the folder's rounds.csv; 0 if there is no table.
std::int64_t rounds_in_table(const std::filesystem::path& folder);

}  // namespace fedhive::sim
