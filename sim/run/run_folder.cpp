#include "sim/run/run_folder.h"

#include "aggregation/base/error.h"
#include "aggregation/base/input_file.h"
#include "aggregation/memory/shared_segment.h"
#include "sim/record/durable_file.h"
#include "sim/record/table_cells.h"
#include "sim/run/fairness_table.h"
#include "sim/run/run_files.h"

#include <fmt/compile.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace fedhive::sim {

namespace fs = std::filesystem;

namespace {

std::string round_columns(const clients::LearningTask& task) {
    std::string text = "round,version,cohort,accepted,failed,train_loss,test_loss,";
    std::string later;
    for (const clients::Metric& metric : task.metrics)
        if (metric.over_classes == 0)
            text += fmt::format("test_{},", metric.name);
        else
            later += fmt::format(",test_{}", metric.name);
    return text +
           "bytes_down,bytes_up,staleness_mean,wall_s,"
           "pull_down_s,train_s,barrier_s,aggregate_s,server_step_s,evaluate_s,left_behind,in_flight,virtual_s,started_s" +
           later + "\n";
}

constexpr std::string_view kClientColumns =
    "round,client_id,worker,slot,num_examples,steps,train_loss,update_norm,update_hash,seconds,failure,sent_round,staleness,"
    "started_s,gather_s,update_s";
constexpr std::string_view kOwnerColumn = ",owner";  // last, if clients have names

std::string client_columns(bool named) { return fmt::format("{}{}\n", kClientColumns, named ? kOwnerColumn : ""); }

/// Whether this table of clients has a column of names.
bool has_owners(const fs::path& file) {
    const std::string columns = client_columns(true);
    std::string head(columns.size(), '\0');
    try {
        head.resize(InputFile(file).read(head));
    } catch (const FileError&) {
        return false;
    }
    return head == columns;
}

constexpr std::string_view kArrivalColumns = "round,client_id\n";

void cut_table(AppendFile& table, std::uint64_t size, std::string_view columns) {
    table.cut(size);
    if (size == 0) table.append(columns);
}

/// Length of the events' whole lines. A killed process may leave half a line, a crashed machine worse.
std::uint64_t whole_lines(const std::string& text) {
    std::size_t end = text.rfind('\n') + 1;  // 0 if there is none
    while (end > 0) {
        const std::size_t before = end < 2 ? std::string::npos : text.rfind('\n', end - 2);
        const std::size_t begin = before == std::string::npos ? 0 : before + 1;
        const auto line = text.begin() + static_cast<std::ptrdiff_t>(begin);
        if (nlohmann::json::accept(line, text.begin() + static_cast<std::ptrdiff_t>(end))) break;
        end = begin;
    }
    return end;
}

RunLock write_first_files(RunLock lock, const RunConfig& config, const std::string& first_checkpoint) {
    if (!first_checkpoint.empty()) {
        fs::create_directories(lock.folder() / "checkpoints");
        write_file(checkpoint_path(lock.folder(), 0), first_checkpoint);
    }
    write_file(lock.folder() / "config.yaml", to_yaml(config));
    return lock;
}

std::string optional_text(const std::optional<double>& value) { return value ? fmt::format("{}", *value) : ""; }

using Rows = fmt::memory_buffer;

template <class Format, class... Cells>
void add_cells(Rows& rows, const Format& format, const Cells&... cells) {
    fmt::format_to(fmt::appender(rows), format, cells...);
}

/// Formats are compiled, since a round of many small clients costs little more than its rows.
void add_client_row(Rows& rows, const RoundRecord& round, const ClientReport& client, const std::string& owner) {
    const std::int64_t sent_round = client.sent_round + 1;
    add_cells(rows, FMT_COMPILE("{},{},{},{},{},"), round.round, client.client_id, client.worker, client.slot,
              client.num_examples);
    if (client.failure)
        return add_cells(rows, FMT_COMPILE(",,,,,{},{},{},,,{}\n"), to_string(*client.failure), sent_round, client.staleness,
                         owner);
    const clients::ClientResult& result = client.result;
    add_cells(rows, FMT_COMPILE("{},{},{},{:016x},{:.6f},,{},{},"), result.steps, result.train_loss, result.update_norm,
              result.update_hash, result.seconds, sent_round, client.staleness);
    add_cells(rows, FMT_COMPILE("{:.6f},{:.9f},{:.9f}{}\n"), seconds_between(round.origin_ns, result.start_ns), result.gather_s,
              result.update_s, owner);
}

std::string_view text_of(const Rows& rows) { return {rows.data(), rows.size()}; }

/// The last row of the first `size` bytes, if it is no longer than kMost bytes.
std::string last_row(InputFile& input, std::uint64_t size) {
    constexpr std::uint64_t kMost = std::uint64_t{64} << 10;
    std::string text(std::min(size, kMost), '\0');
    input.seek(size - text.size());
    text.resize(input.read(text));
    return text.size() < 2 ? text : text.substr(text.rfind('\n', text.size() - 2) + 1);
}

/// `every_round`: the last row must be of the last round.
void check_table(const fs::path& file, const TableEnd& end, std::string_view columns, std::int64_t rounds,
                 bool every_round = true) {
    const auto refuse = [&](const std::string& problem) {
        throw ConfigError(
            fmt::format("{}: {}; restore the file that the run wrote, or run again in another folder", file.string(), problem));
    };
    std::optional<InputFile> opened;
    try {
        opened.emplace(file);
    } catch (const FileError& error) {
        refuse(error.reason);
    }
    InputFile& input = *opened;
    if (input.size() < end.bytes)
        refuse(fmt::format("has {0} bytes, but at the checkpoint of round {2} it had {1}", input.size(), end.bytes, rounds));
    std::string head(columns.size(), '\0');
    head.resize(input.read(head));
    if (head != columns) refuse("its columns differ from those that this fedhive writes");
    const std::string row = last_row(input, end.bytes);
    if (!row.ends_with('\n') || (every_round && !row.starts_with(fmt::format("{},", rounds))))
        refuse(fmt::format("its first {} bytes do not end with a {}", end.bytes,
                           every_round ? fmt::format("row of round {}", rounds) : "whole row"));
    if (end.crc && crc_of(file, end.bytes) != *end.crc)
        refuse(fmt::format("its first {} bytes differ from those that the run wrote, so a row has been changed", end.bytes));
}

}  // namespace

RunFolder::RunFolder(RunLock lock, const RunConfig& config, const std::string& first_checkpoint,
                     std::vector<std::string> owners)
    : lock_(write_first_files(std::move(lock), config, first_checkpoint)),
      task_(clients::learning_task(config.task)),
      owners_(std::move(owners)),
      names_clients_(!owners_.empty()),
      rounds_(path() / "rounds.csv"),
      clients_(path() / "clients.csv"),
      events_(path() / "events.jsonl"),
      arrivals_(path() / "arrivals.csv") {
    make_folders();
    if (config.evaluation.clients.every) fairness_.emplace(path() / "fairness.csv");
    rounds_.append(round_columns(task_));
    clients_.append(client_columns(names_clients_));
    arrivals_.append(kArrivalColumns);
    if (fairness_) fairness_->append(fairness_columns(metric()));
}

RunFolder::RunFolder(RunLock lock, const RunConfig& config, std::vector<std::string> owners)
    : lock_(std::move(lock)),
      task_(clients::learning_task(config.task)),
      owners_(std::move(owners)),
      names_clients_(!owners_.empty()),
      rounds_(path() / "rounds.csv"),
      clients_(path() / "clients.csv"),
      events_(path() / "events.jsonl"),
      arrivals_(path() / "arrivals.csv") {
    make_folders();
    if (config.evaluation.clients.every) fairness_.emplace(path() / "fairness.csv");
}

void RunFolder::go_back_to(const TablePositions& tables, std::int64_t round) {
    remove_part_files(path());
    put_folders_aside(path());
    unlink((path() / "model.safetensors").c_str());
    cut_table(rounds_, tables.rounds.bytes, round_columns(task_));
    // A run begun by an older fedhive keeps its columns.
    names_clients_ = !owners_.empty() && (tables.clients.bytes == 0 || has_owners(path() / "clients.csv"));
    cut_table(clients_, tables.clients.bytes, client_columns(names_clients_));
    cut_table(arrivals_, tables.arrivals.bytes, kArrivalColumns);
    if (fairness_) {
        cut_table(*fairness_, tables.fairness.bytes, fairness_columns(metric()));
        const fs::path on_clients = path() / client_table_name(metric());
        if (round_of_client_table(read_file_or_nothing(on_clients), metric()) > round) unlink(on_clients.c_str());
    }
    events_.cut(whole_lines(read_file(path() / "events.jsonl", aggregation::available_memory_bytes())));
}

void RunFolder::make_folders() const {
    for (const char* name : {"logs", "checkpoints"}) fs::create_directories(path() / name);
}

void RunFolder::add_round(const RoundRecord& round, const Arrivals& arrived, const ServerState& server) {
    Rows rows;
    for (const ClientReport& client : arrived.clients)
        add_client_row(rows, round, client, names_clients_ ? owner_cell(owners_, client.client_id) : "");
    clients_.append(text_of(rows));
    if (!round.virtual_s) {  // on the virtual clock the order needs no record
        Rows order;
        for (const std::uint32_t client : arrived.order) add_cells(order, FMT_COMPILE("{},{}\n"), round.round, client);
        arrivals_.append(text_of(order));
    }
    if (round.on_clients) add_clients_test(round.round, *round.on_clients);
    const std::size_t cohort = arrived.clients.size();
    const std::size_t accepted = arrived.accepted();
    std::string test = round.test ? fmt::format("{}", round.test->test_loss) : "", later;
    for (const clients::Metric& metric : task_.metrics)
        (metric.over_classes == 0 ? test : later) +=
            "," + optional_text(round.test ? round.test->value(metric.name) : std::nullopt);
    const std::size_t left_behind = arrived.left_behind();
    std::string row =
        fmt::format("{},{},{},{},{},{},{},{},{},{},{:.6f}", round.round, server.version, cohort, accepted,
                    cohort - accepted - left_behind, optional_text(arrived.train_loss()), test, arrived.traffic.down,
                    arrived.traffic.up, arrived.staleness_mean(), seconds_between(round.start_ns, round.lap_ns));
    for (const double seconds : round.seconds) row += fmt::format(",{:.6f}", seconds);
    rounds_.append(fmt::format("{},{},{},{},{:.6f}{}\n", row, left_behind, server.in_flight.size(),
                               optional_text(round.virtual_s), seconds_between(round.origin_ns, round.start_ns), later));
}

void RunFolder::add_clients_test(std::int64_t round, const ClientsTest& test) {
    fairness_->append(fairness_rows(round, test, metric()));
    write_file(path() / client_table_name(metric()), client_table(round, test, metric(), owners_));
}

void RunFolder::add_event(const std::string& event, const nlohmann::json& details) {
    nlohmann::ordered_json line{{"time", utc_time()}, {"event", event}};
    line.update(details);
    // A worker's error text need not be UTF-8, and must not make the event fail.
    events_.append(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void RunFolder::write_manifest(const nlohmann::ordered_json& manifest) const {
    write_file(path() / "manifest.json", manifest.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void RunFolder::write_config(const RunConfig& config) const { write_file(path() / "config.yaml", to_yaml(config)); }

void write_partition(const fs::path& file, const clients::SharedDataset& dataset, const clients::FeatureSkew& skew,
                     const std::vector<std::string>& owners) {
    // Without class labels there are no counts per class.
    const bool labelled = dataset.map().target.kind == clients::TargetKind::Class;
    const std::size_t num_classes = labelled ? static_cast<std::size_t>(dataset.map().num_classes) : 0;
    const std::size_t clients = num_partitioned(dataset.map().num_clients, num_classes);
    write_file(file, [&](const WritePart& write) {
        std::string row = "client_id,num_examples";
        for (std::size_t label = 0; label < num_classes; ++label) row += fmt::format(",label_{}", label);
        write(fmt::format("{},held_out{}{}\n", row, skew.any() ? ",turned_deg,noise_std" : "",
                          owners.empty() ? "" : kOwnerColumn));
        for (std::size_t client = 0; client < clients; ++client) {
            const auto shard = dataset.shard(client);
            row = fmt::format("{},{}", client, shard.size());
            for (const std::uint64_t count : clients::label_counts(shard, dataset.train(), dataset.map().num_classes))
                row += fmt::format(",{}", count);
            row += fmt::format(",{}", dataset.held_out(client).size());
            if (skew.any())
                row += fmt::format(",{},{}", skew.degrees(client), skew.noise_std(client, dataset.map().num_clients));
            write(row + owner_cell(owners, client) + "\n");
        }
    });
}

std::size_t num_partitioned(std::size_t num_clients, std::size_t num_classes) {
    const std::size_t fitting = kMostPartitionCounts / std::max<std::size_t>(1, num_classes);
    return std::min({num_clients, kMostPartitioned, std::max<std::size_t>(1, fitting)});
}

void RunFolder::add_partition(const clients::SharedDataset& dataset, const clients::FeatureSkew& skew) {
    write_partition(path() / "partition.csv", dataset, skew, owners_);
    partition_.emplace(path() / "partition.csv");
}

TablePositions RunFolder::sync_tables() {
    clients_.sync();
    arrivals_.sync();
    if (fairness_) fairness_->sync();
    rounds_.sync();
    const auto end = [](const AppendFile& table) { return TableEnd{table.size(), table.crc()}; };
    return {end(rounds_), end(clients_), end(arrivals_), fairness_ ? end(*fairness_) : TableEnd{}};
}

void RunFolder::expect_whole_tables() const {
    for (const AppendFile* table : {&rounds_, &clients_, &arrivals_, &events_}) table->expect_whole();
    for (const auto* table : {&partition_, &fairness_})
        if (*table) (*table)->expect_whole();
}

void check_tables(const fs::path& folder, const TablePositions& tables, std::int64_t rounds,
                  const clients::LearningTask& task) {
    check_table(folder / "rounds.csv", tables.rounds, round_columns(task), rounds);
    check_table(folder / "clients.csv", tables.clients, client_columns(has_owners(folder / "clients.csv")), rounds);
    // On the virtual clock the table has no rows.
    if (tables.arrivals.bytes > kArrivalColumns.size())
        check_table(folder / "arrivals.csv", tables.arrivals, kArrivalColumns, rounds);
    if (tables.fairness.bytes > 0)
        check_table(folder / "fairness.csv", tables.fairness, fairness_columns(task.main_metric()), rounds, false);
}

std::int64_t rounds_in_table(const fs::path& folder) {
    const std::string text = read_file_or_nothing(folder / "rounds.csv", aggregation::available_memory_bytes());
    return std::max<std::int64_t>(0, std::ranges::count(text, '\n') - 1);  // minus the line of column names
}

}  // namespace fedhive::sim
