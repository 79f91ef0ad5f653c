// The files of a run as it writes them (results/README.md describes them): tables grow by whole rows, other files are written beside their
// place and renamed.
#pragma once

#include "clients/data/shared_dataset.h"
#include "clients/tasks/learning_task.h"
#include "sim/config/config.h"
#include "sim/record/append_file.h"
#include "sim/record/run_lock.h"
#include "sim/record/utc_time.h"
#include "sim/round/round_record.h"
#include "sim/round/server_state.h"
#include "sim/state/checkpoint.h"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::sim {

/// Version of the files' schema, in the manifest: columns are only ever added at the end.
inline constexpr int kResultSchema = 1;

/// Clients in partition.csv: enough to see how examples are dealt; with a million of them it would only be large. So it would with a million
/// classes: of them all the counts it holds, there are no more than these.
inline constexpr std::size_t kMostPartitioned = 10000;
inline constexpr std::size_t kMostPartitionCounts = 10'000'000;

/// How many clients partition.csv lists: the first of them.
std::size_t num_partitioned(std::size_t num_clients, std::size_t num_classes);

/// partition.csv: how many examples of each label the first num_partitioned() clients train on, how many more they hold out, and, where features
/// are skewed, how; last the clients' names, where there are `owners`.
void write_partition(const std::filesystem::path& file, const clients::SharedDataset& dataset, const clients::FeatureSkew& skew,
                     const std::vector<std::string>& owners);

class RunFolder {
public:
    /// A new run's: writes config.yaml before anything else, so that a run can be resumed from its first file on, and empty tables. Where
    /// there is a `first_checkpoint` (its bytes), that one comes even before: config.yaml may then name a model file that goes away.
    /// `owners`: the clients' names, the last column of their tables; empty: they have none, nor the tables the column.
    RunFolder(RunLock lock, const RunConfig& config, const std::string& first_checkpoint, std::vector<std::string> owners = {});

    /// A resumed run's, as it was left.
    RunFolder(RunLock lock, const RunConfig& config, std::vector<std::string> owners = {});

    const std::filesystem::path& path() const { return lock_.folder(); }
    std::filesystem::path logs() const { return path() / "logs"; }

    /// Back to the checkpoint that wrote `tables` after round `round`, or to the beginning: tables are cut there, torn lines cut off the events,
    /// temporary files, a model of an earlier end and clients' accuracies of a later round removed. The manifest should say before that the run goes on.
    void go_back_to(const TablePositions& tables, std::int64_t round);

    /// One row of rounds.csv, the rows of clients.csv, and, where clients were evaluated on their own examples, of fairness.csv; and all of
    /// client_accuracy.csv, or that of the task's main metric, then.
    void add_round(const RoundRecord& round, const Arrivals& arrived, const ServerState& server);

    /// One line of events.jsonl; the time is added.
    void add_event(const std::string& event, const nlohmann::json& details);
    void write_manifest(const nlohmann::ordered_json& manifest) const;
    void write_config(const RunConfig& config) const;

    /// partition.csv, which is watched from here on as the other tables are.
    void add_partition(const clients::SharedDataset& dataset, const clients::FeatureSkew& skew);

    /// Where the tables end, once all of that is on the disk. Throws as expect_whole_tables().
    TablePositions sync_tables();

    /// Throws Fault naming the table that somebody has cut, removed or replaced since it was opened.
    void expect_whole_tables() const;

private:
    void make_folders() const;
    const clients::Metric& metric() const { return task_.main_metric(); }
    void add_clients_test(std::int64_t round, const ClientsTest& test);

    RunLock lock_;
    const clients::LearningTask& task_;
    std::vector<std::string> owners_;  // of each client; empty: they have no names
    bool names_clients_;               // clients.csv does
    AppendFile rounds_;
    AppendFile clients_;
    AppendFile events_;
    AppendFile arrivals_;                  // empty on the virtual clock, whose order needs no record
    std::optional<AppendFile> partition_;  // from add_partition() on
    std::optional<AppendFile> fairness_;   // where clients are evaluated on their own examples
};

/// Throws ConfigError where the tables in a folder cannot be cut back to `tables`: their columns, or the rows up to there, are not those
/// of a run that had finished `rounds` rounds, at least one.
void check_tables(const std::filesystem::path& folder, const TablePositions& tables, std::int64_t rounds,
                  const clients::LearningTask& task);

/// Rounds that have a whole row in the folder's rounds.csv; 0 where there is no table.
std::int64_t rounds_in_table(const std::filesystem::path& folder);

}  // namespace fedhive::sim
