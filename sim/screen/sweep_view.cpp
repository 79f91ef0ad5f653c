#include "sim/screen/sweep_view.h"

#include "sim/config/sweep_config.h"
#include "sim/screen/screen_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>

namespace fedhive::sim {

namespace {

/// The value under a key if it has that type; else `otherwise`.
std::string text_in(const nlohmann::json& object, const char* key, const std::string& otherwise) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? printable(found->get<std::string>()) : otherwise;
}

double number_in(const nlohmann::json& object, const char* key, double otherwise) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number() ? found->get<double>() : otherwise;
}

std::int64_t count_in(const nlohmann::json& object, const char* key) {
    return static_cast<std::int64_t>(std::clamp(number_in(object, key, 0.0), 0.0, 1e15));
}

SweepEntry read_entry(const nlohmann::json& run) {
    SweepEntry entry;
    entry.id = text_in(run, "id", "");
    entry.status = state_in_sweep(text_in(run, "status", word_of(RunState::Waiting))).value_or(RunState::Absent);
    entry.reason = text_in(run, "reason", "");
    entry.rounds = count_in(run, "rounds");
    entry.workers = count_in(run, "workers");
    entry.attempts = count_in(run, "attempts");
    entry.estimate_s = std::max(0.0, number_in(run, "estimate_s", 0.0));
    return entry;
}

/// Why no sweep can have written this sweep.json; empty if one can.
std::string problem_of(const nlohmann::json& plan) {
    if (!plan.is_object()) return "it is not a JSON object";
    if (!plan.contains("exit_status") || !plan["exit_status"].is_string()) return "it has no exit_status";
    if (!plan.contains("runs") || !plan["runs"].is_array()) return "it has no list of runs";
    for (const auto& run : plan["runs"]) {
        if (!run.is_object() || text_in(run, "id", "").empty()) return "a run has no id";
        const std::string status = text_in(run, "status", "");
        if (!state_in_sweep(status)) return fmt::format("the status of run {} is '{}'", text_in(run, "id", ""), status);
    }
    return "";
}

/// Why a sweep.json that says "finished" is wrong: a run that has not ended. Empty if it is consistent.
std::string contradiction_in(const nlohmann::json& plan) {
    if (!plan.is_object() || state_told(text_in(plan, "exit_status", "")) != RunState::Finished || !plan.contains("runs"))
        return "";
    for (const auto& run : plan["runs"]) {
        const std::string status = run.is_object() ? text_in(run, "status", "") : "";
        const std::optional<RunState> state = state_in_sweep(status);
        if (state != RunState::Finished && state != RunState::Stopped)
            return fmt::format("it says that the sweep has finished, but that one of its runs is '{}'", status);
    }
    return "";
}

void copy_seen(const RunView& view, SweepEntry& entry) {
    entry.round = view.round();
    entry.quality = view.quality();
    entry.metric = view.metric();
    entry.rounds_per_s = view.rounds_per_s();
    entry.eta_s = view.eta_s();
    entry.ended_s = view.written_s();
}

}  // namespace

double SweepEntry::work_done() const {
    if (status == RunState::Finished) return estimate_s;
    return rounds > 0 ? estimate_s * std::min(1.0, static_cast<double>(round) / static_cast<double>(rounds)) : 0.0;
}

double SweepEntry::work_left() const { return ended() ? 0.0 : estimate_s - work_done(); }

SweepView::SweepView(std::filesystem::path folder)
    : folder_(std::move(folder)), plan_(folder_ / "sweep.json"), name_(printable(folder_.filename().string())) {}

void SweepView::refresh() {
    // Read the lock before sweep.json: a process that has released the lock has written its end.
    LockHolder lock = lock_holder(folder_);
    read_plan();
    std::error_code none;
    if (lock.pid == 0 && exit_status_.empty() && std::filesystem::exists(folder_ / "sweep.json", none))
        call_damaged("cannot be read");
    state_ = state_without_process(exit_status_);
    if (state_ == RunState::Killed && lock.pid == 0) lock = lock_holder(folder_);  // it may have started between the two
    if (lock.pid != 0) state_ = RunState::Running;
    const double since = std::max(plan_.written_s(), lock.since_s);
    since_s_ = state_ == RunState::Running ? std::max(0.0, time_s() - since) : 0.0;
    for (SweepEntry& entry : runs_)
        if (entry.at_work()) look_at(entry);
}

void SweepView::call_damaged(const std::string& problem) {
    damaged_ = true;
    exit_status_ = "sweep.json " + problem;
}

void SweepView::read_plan() {
    const auto text = plan_.if_changed();
    if (!text) return;
    const auto plan = nlohmann::json::parse(*text, nullptr, false);
    // What was intact a moment ago will be intact again; a contradiction will stay.
    std::string problem = exit_status_.empty() || damaged_ ? problem_of(plan) : "";
    if (problem.empty()) problem = contradiction_in(plan);
    if (!problem.empty())
        call_damaged("is damaged: " + problem);
    else
        damaged_ = false;
    if (!plan.is_object() || !plan.contains("runs") || !plan["runs"].is_array()) return;
    const bool first_time = runs_.empty();
    std::map<std::string, SweepEntry> before;
    for (SweepEntry& entry : runs_) before.emplace(entry.id, entry);
    if (!damaged_) exit_status_ = text_in(plan, "exit_status", exit_status_);
    name_ = text_in(plan, "name", name_);
    wall_s_ = number_in(plan, "wall_s", 0.0);
    runs_.clear();
    double all = 0.0;
    for (const auto& run : plan["runs"]) {
        if (!run.is_object()) continue;
        SweepEntry entry = read_entry(run);
        if (const std::string unfit = run_id_problem(entry.id); !entry.id.empty() && !unfit.empty()) {
            call_damaged("is damaged: id of a run: " + unfit);  // and its folder is not read
            continue;
        }
        all += entry.estimate_s;
        const auto known = before.find(entry.id);
        if (known != before.end() && known->second.status == entry.status) {
            entry.round = known->second.round;
            entry.quality = known->second.quality;
            entry.metric = known->second.metric;
            entry.ended_s = known->second.ended_s;
        } else if (entry.ended() || entry.on_its_way()) {
            look_at(entry);
            views_.erase(entry.id);
            if (!first_time && entry.ended()) entry.ended_s = time_s();
        }
        runs_.push_back(std::move(entry));
    }
    for (SweepEntry& entry : runs_)
        if (all == 0.0) entry.estimate_s = 1.0;
}

void SweepView::look_at(SweepEntry& entry) {
    std::unique_ptr<RunView>& view = views_[entry.id];
    if (!view) view = std::make_unique<RunView>(folder_ / "runs" / entry.id);
    view->refresh();
    copy_seen(*view, entry);
    if (!entry.at_work()) return;
    // A running sweep knows better: it may be about to start the process.
    const bool killed = state_ != RunState::Running && view->state() != RunState::Running;
    entry.status = killed ? RunState::Killed : RunState::Running;
}

std::size_t SweepView::count(RunState status) const {
    return static_cast<std::size_t>(
        std::count_if(runs_.begin(), runs_.end(), [&](const SweepEntry& run) { return run.status == status; }));
}

double SweepView::fraction() const {
    double done = 0.0;
    double left = 0.0;
    for (const SweepEntry& run : runs_) {
        done += run.work_done();
        left += run.work_left();
    }
    return done + left > 0.0 ? done / (done + left) : 0.0;
}

std::optional<double> SweepView::eta_s() const {
    const double done = fraction();
    if (state_ != RunState::Running || done <= 0.0) return std::nullopt;
    return elapsed_s() * (1.0 - done) / done;
}

std::int64_t SweepView::rounds_done() const {
    std::int64_t rounds = 0;
    for (const SweepEntry& run : runs_) rounds += run.round;
    return rounds;
}

std::int64_t SweepView::rounds_planned() const {
    std::int64_t rounds = 0;
    for (const SweepEntry& run : runs_) rounds += run.rounds;
    return rounds;
}

const SweepEntry* SweepView::best() const {
    const SweepEntry* best = nullptr;
    for (const SweepEntry& run : runs_)
        if (run.quality && (best == nullptr ||
                            (run.metric == best->metric && shown_metric(run.metric).is_better(*run.quality, *best->quality))))
            best = &run;
    return best;
}

}  // namespace fedhive::sim
