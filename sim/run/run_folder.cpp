#include "sim/run/run_folder.h"

#include "aggregation/base/error.h"
#include "aggregation/base/input_file.h"
#include "aggregation/memory/shared_segment.h"
#include "sim/config/load_config.h"
#include "sim/plan/run_reports.h"
#include "sim/record/durable_file.h"
#include "sim/run/confusion_table.h"
#include "sim/run/fairness_table.h"
#include "sim/run/partition_table.h"
#include "sim/run/run_files.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace fedhive::sim {

namespace fs = std::filesystem;

namespace {

constexpr const char* kConfusionTable = "confusion.csv";

/// Whether clients.csv has a column of draws.
bool draws_of(const RunConfig& config) { return sampler_spec(config.sampling.name).repeats; }

/// Whether this table of clients, with the columns of these reports, has a column of names.
bool has_owners(const fs::path& file, const std::vector<clients::ReportSpec>& reports, bool draws) {
    const std::string columns = clients_csv(true, reports, draws).header();
    std::string head(columns.size(), '\0');
    try {
        head.resize(InputFile(file).read(head));
    } catch (const FileError&) {
        return false;
    }
    return head == columns;
}

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
    if (const Method* method = config.strategy.parts.method.get(); method != nullptr) {
        if (!method->in_python()) write_file(lock.folder() / kMethodBox, method->box);
        if (method->file.extension() == ".py") write_file(lock.folder() / kMethodSource, method->source);
    }
    if (!config.strategy.rule.empty()) write_file(lock.folder() / kRuleSource, config.strategy.parts.rule->source);
    if (!config.strategy.visit.empty()) write_file(lock.folder() / kVisitSource, config.strategy.parts.visit->source);
    write_file(lock.folder() / "config.yaml", to_yaml(config));
    return lock;
}

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
    : RunFolder(write_first_files(std::move(lock), config, first_checkpoint), config, std::move(owners)) {
    rounds_.append(rounds_table_.header());
    clients_.append(clients_table_.header());
    arrivals_.append(arrivals_table_.header());
    if (fairness_) fairness_->append(fairness_csv(metric()).header());
}

RunFolder::RunFolder(RunLock lock, const RunConfig& config, std::vector<std::string> owners)
    : lock_(std::move(lock)),
      task_(clients::learning_task(config.task)),
      owners_(std::move(owners)),
      rounds_table_(rounds_csv(config)),
      reports_(report_specs(config)),
      has_draws_(draws_of(config)),
      clients_table_(clients_csv(!owners_.empty(), reports_, has_draws_)),
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
    cut_table(rounds_, tables.rounds.bytes, rounds_table_.header());
    // A run begun by an older fedhive keeps its columns.
    const bool named =
        !owners_.empty() && (tables.clients.bytes == 0 || has_owners(path() / "clients.csv", reports_, has_draws_));
    clients_table_ = clients_csv(named, reports_, has_draws_);
    cut_table(clients_, tables.clients.bytes, clients_table_.header());
    cut_table(arrivals_, tables.arrivals.bytes, arrivals_table_.header());
    if (fairness_) {
        cut_table(*fairness_, tables.fairness.bytes, fairness_csv(metric()).header());
        const fs::path on_clients = path() / client_table_name(metric());
        if (round_of_client_table(read_file_or_nothing(on_clients), metric()) > round) unlink(on_clients.c_str());
    }
    if (round_of_confusion_table(read_file_or_nothing(path() / kConfusionTable)) > round)
        unlink((path() / kConfusionTable).c_str());
    events_.cut(whole_lines(read_file(path() / "events.jsonl", aggregation::available_memory_bytes())));
}

void RunFolder::make_folders() const {
    for (const char* name : {"logs", "checkpoints"}) fs::create_directories(path() / name);
}

void RunFolder::add_round(const RoundRecord& round, const Arrivals& arrived, const ServerState& server) {
    RowText rows;
    for (const ClientReport& client : arrived.clients)
        clients_table_.append(rows, {round, client, owners_.empty() ? std::string_view() : owners_[client.client_id]});
    clients_.append(text_of(rows));
    if (!round.virtual_s) {  // on the virtual clock the order needs no record
        RowText order;
        for (const std::uint32_t client : arrived.order) arrivals_table_.append(order, {round.round, client});
        arrivals_.append(text_of(order));
    }
    if (round.on_clients) add_clients_test(round.round, *round.on_clients);
    RowText row;
    rounds_table_.append(row, {round, arrived, server});
    rounds_.append(text_of(row));
    if (round.test && !round.test->confusion.empty())
        write_file(path() / kConfusionTable, confusion_table(round.round, round.test->confusion));
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

void check_tables(const fs::path& folder, const TablePositions& tables, std::int64_t rounds, const RunConfig& config) {
    check_table(folder / "rounds.csv", tables.rounds, rounds_csv(config).header(), rounds);
    const std::vector<clients::ReportSpec> reports = report_specs(config);
    const bool draws = draws_of(config), named = has_owners(folder / "clients.csv", reports, draws);
    check_table(folder / "clients.csv", tables.clients, clients_csv(named, reports, draws).header(), rounds);
    // On the virtual clock the table has no rows.
    if (const std::string columns = arrivals_csv().header(); tables.arrivals.bytes > columns.size())
        check_table(folder / "arrivals.csv", tables.arrivals, columns, rounds);
    if (tables.fairness.bytes > 0)
        check_table(folder / "fairness.csv", tables.fairness,
                    fairness_csv(clients::learning_task(config.task).main_metric()).header(), rounds, false);
}

std::int64_t rounds_in_table(const fs::path& folder) {
    const std::string text = read_file_or_nothing(folder / "rounds.csv", aggregation::available_memory_bytes());
    return std::max<std::int64_t>(0, std::ranges::count(text, '\n') - 1);  // minus the line of column names
}

}  // namespace fedhive::sim
