#include "sim/screen/run_view.h"

#include "sim/config/load_config.h"
#include "sim/record/table_cells.h"
#include "sim/screen/screen_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace fedhive::sim {

namespace {

constexpr std::size_t kRecent = 10;  // number of rounds for the rate

template <auto member>
bool set(RoundRow& row, std::string_view cell) {
    return parse_cell(cell, row.*member);
}

/// The columns of rounds.csv that are read, besides the main metric.
struct ReadColumn {
    std::string_view name;
    RunView::SetCell set;
};
constexpr ReadColumn kRead[]{{"round", set<&RoundRow::round>},         {"version", set<&RoundRow::version>},
                             {"cohort", set<&RoundRow::cohort>},       {"accepted", set<&RoundRow::accepted>},
                             {"failed", set<&RoundRow::failed>},       {"train_loss", set<&RoundRow::train_loss>},
                             {"test_loss", set<&RoundRow::test_loss>}, {"wall_s", set<&RoundRow::wall_s>},
                             {"virtual_s", set<&RoundRow::virtual_s>}, {"bytes_down", set<&RoundRow::bytes_down>},
                             {"bytes_up", set<&RoundRow::bytes_up>}};

}  // namespace

RunState state_without_process(const std::string& exit_status) {
    if (exit_status.empty()) return RunState::Absent;
    const RunState told = state_told(exit_status).value_or(RunState::Failed);
    return told == RunState::Running ? RunState::Killed : told;
}

RunView::RunView(std::filesystem::path folder, std::string other)
    : folder_(std::move(folder)),
      other_(std::move(other)),
      manifest_(folder_ / "manifest.json"),
      config_(folder_ / "config.yaml"),
      table_(folder_ / "rounds.csv"),
      name_(printable(folder_.filename().string())) {}

void RunView::refresh() {
    // Read the lock before the manifest, and the manifest before the rows: a process that has released the lock has written its
    // end and all rows before.
    lock_ = lock_holder(folder_);
    read_manifest();
    read_config();
    read_rows();
    state_ = state_without_process(exit_status_);
    // A process killed before it wrote a manifest leaves a config. One that started between our two looks holds the lock by
    // now.
    if (state_ == RunState::Absent && config_.written_s() > 0.0) state_ = RunState::Killed;
    if (state_ == RunState::Killed && lock_.pid == 0) lock_ = lock_holder(folder_);
    if (lock_.pid != 0) state_ = RunState::Running;
    const double since = std::max({lock_.since_s, manifest_.written_s(), table_.written_s()});
    at_work_s_ = state_ == RunState::Running ? std::max(0.0, time_s() - since) : 0.0;
}

void RunView::read_manifest() {
    const auto text = manifest_.if_changed();
    if (!text) return;
    const auto manifest = nlohmann::json::parse(*text, nullptr, false);
    if (!manifest.is_object() || !manifest.contains("exit_status") || !manifest["exit_status"].is_string()) {
        // It is never written in part; what was intact a moment ago will be intact again.
        if (exit_status_.empty()) exit_status_ = "manifest.json is damaged";
        if (!manifest.is_object()) return;
    }
    const auto string_at = [&](const char* key, std::string& value) {
        if (manifest.contains(key) && manifest[key].is_string()) value = printable(manifest[key].get<std::string>());
    };
    string_at("exit_status", exit_status_);
    string_at("name", name_);
    diverged_ = manifest.value("diverged", nlohmann::json(false)) == nlohmann::json(true);
    if (manifest.contains("workers") && manifest["workers"].is_number_integer())
        workers_ = manifest["workers"].get<std::int64_t>();
    if (manifest.contains("round") && manifest["round"].is_number_integer())
        told_rounds_ = manifest["round"].get<std::int64_t>();
}

void RunView::read_config() {
    const auto text = config_.if_changed();
    if (!text) return;
    parse_cell(top_level_value(*text, "rounds"), rounds_);
    const std::string name = top_level_value(*text, "task");
    for (const clients::LearningTask& task : clients::task_catalog())
        if (task.name == name) metric_ = &task.main_metric();
}

void RunView::read_rows() {
    const GrowingTable::Added added = table_.read();
    if (added.anew) {
        columns_.clear();
        rows_.clear();
        torn_lines_ = 0;
        quality_.reset();
        done_s_ = 0.0;
    }
    for (const std::string& line : added.lines) columns_.empty() ? read_head(line) : add_row(line);
}

void RunView::read_head(const std::string& line) {
    const std::vector<std::string> names = cells_of(line);
    if (const clients::Metric* found = main_metric_of(names)) metric_ = found;
    columns_.assign(names.size(), {});
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto* const read = std::ranges::find(kRead, names[i], &ReadColumn::name);
        if (read != std::end(kRead)) columns_[i].push_back(read->set);
        if (metric_ != nullptr && names[i] == "test_" + metric_->name) columns_[i].push_back(set<&RoundRow::quality>);
        if (names[i] == other_) columns_[i].push_back(set<&RoundRow::other>);
    }
}

void RunView::add_row(const std::string& line) {
    Row row;
    const std::vector<std::string> cells = cells_of(line);
    bool whole = cells.size() == columns_.size();
    for (std::size_t i = 0; whole && i < cells.size(); ++i)
        for (const SetCell set_cell : columns_[i]) whole = whole && set_cell(row, cells[i]);
    if (!whole) {
        ++torn_lines_;
        return;
    }
    rows_.push_back(row);
    done_s_ += row.wall_s;
    if (row.quality) quality_ = row.quality;
}

std::string RunView::damage() const {
    const std::int64_t told = std::max<std::int64_t>(1, told_rounds_);
    if (state_ != RunState::Finished || round() >= told) return "";
    return fmt::format("manifest.json says finished after {} round{}, but rounds.csv {}", told, told == 1 ? "" : "s",
                       rows_.empty() ? "has no row" : fmt::format("ends with round {}", round()));
}

std::optional<double> RunView::rounds_per_s() const {
    const std::size_t recent = std::min(kRecent, rows_.size());
    double seconds = 0.0;
    for (std::size_t i = rows_.size() - recent; i < rows_.size(); ++i) seconds += rows_[i].wall_s;
    if (state_ != RunState::Running || seconds <= 0.0) return std::nullopt;
    return static_cast<double>(recent) / seconds;
}

std::optional<double> RunView::eta_s() const {
    const auto rate = rounds_per_s();
    if (!rate || rounds_ == 0) return std::nullopt;
    return std::max(0.0, static_cast<double>(rounds_ - round()) / *rate - at_work_s_);
}

RunProgress RunView::progress() const {
    const std::int64_t at_work = round() + (state_ == RunState::Running ? 1 : 0);
    return {.round = rounds_ > 0 ? std::min(at_work, rounds_) : at_work,
            .rounds = rounds_,
            .done = static_cast<double>(round()),
            .elapsed_s = elapsed_s(),
            .rounds_per_s = rounds_per_s(),
            .eta_s = eta_s(),
            .busy = std::nullopt,
            .workers = static_cast<std::size_t>(std::max<std::int64_t>(0, workers_)),
            .quality = quality_,
            .metric = shown_metric(metric_).title};
}

}  // namespace fedhive::sim
