#include "sim/sweep/sweep_folder.h"

#include "aggregation/base/error.h"
#include "aggregation/base/input_file.h"
#include "sim/config/load_config.h"
#include "sim/record/durable_file.h"
#include "sim/record/main_metric.h"
#include "sim/record/table_reader.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace fedhive::sim {

namespace fs = std::filesystem;

namespace {

void check_empty(const fs::path& folder) {
    std::error_code none;
    if (!fs::exists(folder, none)) return;
    if (!fs::is_directory(folder, none)) throw ConfigError(fmt::format("--out {}: is not a folder", folder.string()));
    for (const auto& entry : fs::directory_iterator(folder, none)) {
        const fs::path name = entry.path().filename();
        if (name == RunLock::kName || name == "sweep.json.part") continue;
        const bool sweep = fs::exists(folder / kSweepFile);
        throw ConfigError(fmt::format("--out {}: the folder is not empty; choose another{}", folder.string(),
                                      sweep ? ", or resume the sweep in it: fedhive sweep --resume " + folder.string() : ""));
    }
}

/// Visits the intact rows of rounds.csv; a run may be writing it.
template <typename Visit>
void visit_rounds(const fs::path& run, const Visit& visit) {
    try {
        for (TableReader table(run / "rounds.csv"); table.next();) visit(table);
    } catch (const ConfigError&) {
        return;  // missing or damaged: the run itself reports it when resumed
    }
}

bool same_rule(const EarlyStoppingConfig& a, const EarlyStoppingConfig& b) {
    return a.rule == b.rule && a.first_round == b.first_round && a.factor == b.factor;
}

/// The known record, with fields that the sweep file gives anew.
RunRecord as_known(RunRecord known, const RunRecord& now) {
    known.estimate_s = now.estimate_s;
    known.case_name = now.case_name;
    known.weighting = now.weighting;
    return known;
}

/// A planned run's status, from the known one and its folder.
RunState status_now(RunState known, const RunRemains& remains, bool anew) {
    if (remains.finished()) return RunState::Finished;
    const bool stopped = known == RunState::Stopped && remains.paused_after() > 0;
    return stopped && !anew ? RunState::Stopped : RunState::Waiting;
}

}  // namespace

fs::path config_path(const fs::path& sweep, const std::string& id) { return sweep / "configs" / (id + ".yaml"); }
fs::path run_path(const fs::path& sweep, const std::string& id) { return sweep / "runs" / id; }
fs::path log_path(const fs::path& sweep, const std::string& id) { return sweep / "logs" / (id + ".log"); }

RunLock claim_new_sweep(const fs::path& folder) {
    check_empty(folder);
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) throw ConfigError(fmt::format("--out {}: cannot be written: {}", folder.string(), error.message()));
    RunLock lock(folder);
    check_empty(folder);  // again: another process may have held the lock until now
    return lock;
}

RunLock claim_sweep(const fs::path& folder) {
    read_sweep(folder);
    return RunLock(folder);
}

void write_inputs(const fs::path& folder, const SweepConfig& sweep) {
    for (const char* name : {"configs", "runs", "logs"}) fs::create_directories(folder / name);
    for (const SweepRun& run : sweep.runs) {
        const std::string text = to_yaml(run.config);
        if (read_file_or_nothing(config_path(folder, run.id)) != text) write_file(config_path(folder, run.id), text);
    }
    if (fs::exists(sweep.file)) write_file(folder / "sweep.yaml", read_file(sweep.file));
}

SweepRecord take_up(const fs::path& folder, const SweepRecord& before, SweepRecord now, const SweepChanges& changes) {
    const bool anew = !changes.none() || !same_rule(before.early_stopping, now.early_stopping);
    now.started = before.started;
    now.wall_s = before.wall_s;
    now.decided = anew ? 0 : before.decided;
    std::map<std::string, const RunRecord*> known;
    for (const RunRecord& run : before.runs) known[run.id] = &run;
    for (RunRecord& run : now.runs) {
        const auto old = known.find(run.id);
        if (old != known.end() && old->second->config_hash == run.config_hash) run = as_known(*old->second, run);
        const RunRemains remains = remains_of(run_path(folder, run.id));
        run.status = remains.config_hash == run.config_hash ? status_now(run.status, remains, anew) : RunState::Waiting;
        if (anew || run.status == RunState::Waiting) run.reason.clear();
    }
    now.gone = before.gone;
    std::erase_if(now.gone, [&](const std::string& id) { return std::ranges::find(changes.added, id) != changes.added.end(); });
    now.gone.insert(now.gone.end(), changes.gone.begin(), changes.gone.end());
    return now;
}

RunRemains remains_of(const fs::path& run) {
    RunRemains remains;
    const std::string config = read_file_if_there(run / "config.yaml");
    remains.begun = fs::exists(run / "config.yaml");
    try {
        if (remains.begun) remains.config_hash = config_hash(from_yaml(config, (run / "config.yaml").string()));
    } catch (const ConfigError&) {
        remains.config_hash.clear();
    }
    const auto manifest = nlohmann::json::parse(read_file_or_nothing(run / "manifest.json"), nullptr, false);
    if (manifest.is_object() && manifest.contains("exit_status") && manifest["exit_status"].is_string())
        remains.exit_status = manifest["exit_status"];
    return remains;
}

const clients::Metric* read_metric(const fs::path& run) {
    try {
        return main_metric_of(TableReader(run / "rounds.csv").columns());
    } catch (const ConfigError&) {
        return nullptr;
    }
}

Qualities read_qualities(const fs::path& run, std::int64_t round) {
    Qualities qualities;
    const clients::Metric* metric = read_metric(run);
    if (metric == nullptr) return qualities;
    visit_rounds(run, [&](const TableReader& table) {
        double quality = 0.0;
        const std::string& text = table.text("test_" + metric->name);
        const bool evaluated = std::from_chars(text.data(), text.data() + text.size(), quality).ec == std::errc();
        if (evaluated && static_cast<std::int64_t>(table.number("round")) <= round) qualities.push_back(quality);
    });
    return qualities;
}

std::int64_t count_rounds(const fs::path& run) {
    std::int64_t rounds = 0;
    visit_rounds(run, [&](const TableReader&) { ++rounds; });
    return rounds;
}

std::vector<std::string> run_arguments(const RunOrder& order) {
    const fs::path folder = run_path(order.sweep, order.id);
    const RunRemains remains = remains_of(folder);
    std::vector<std::string> arguments{"run"};
    if (remains.begun && remains.config_hash == order.config_hash) {
        arguments.insert(arguments.end(), {"--resume", folder.string()});
    } else {
        arguments.insert(arguments.end(), {config_path(order.sweep, order.id).string(), "--out", folder.string()});
        if (remains.begun) arguments.emplace_back("--overwrite");
    }
    arguments.emplace_back("--quiet");
    if (order.workers) arguments.insert(arguments.end(), {"--set", fmt::format("workers={}", *order.workers)});
    if (order.until) arguments.insert(arguments.end(), {"--until", std::to_string(*order.until)});
    return arguments;
}

std::string last_line(const fs::path& log, std::uint64_t begin) {
    constexpr std::size_t kMostCharacters = 200;
    std::string last;
    try {
        LineReader lines(log, begin);
        for (std::string line; lines.next(line);)
            if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
    } catch (const FileError& error) {
        return error.what();
    }
    return last.substr(0, kMostCharacters);
}

}  // namespace fedhive::sim
