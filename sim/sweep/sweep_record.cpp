#include "sim/sweep/sweep_record.h"

#include "aggregation/base/error.h"
#include "aggregation/base/sha256.h"
#include "sim/config/suggest.h"
#include "sim/record/durable_file.h"
#include "sim/record/utc_time.h"
#include "sim/version.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <set>

namespace fedhive::sim {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

namespace {

/// In the order of RunStatus.
constexpr std::array<std::string_view, 6> kStatusNames{"waiting", "running", "paused", "finished", "stopped", "failed"};

RunStatus status_from(const std::string& name) {
    const auto* const found = std::find(kStatusNames.begin(), kStatusNames.end(), name);
    if (found == kStatusNames.end()) throw ConfigError(fmt::format("status '{}' is unknown", name));
    return static_cast<RunStatus>(found - kStatusNames.begin());
}

template <typename T>
ordered_json optional_json(const std::optional<T>& value) {
    return value ? ordered_json(*value) : ordered_json(nullptr);
}

template <typename T>
std::optional<T> optional_from(const ordered_json& value) {
    return value.is_null() ? std::nullopt : std::optional(value.get<T>());
}

ordered_json run_to_json(const RunRecord& run) {
    ordered_json settings = ordered_json::object();
    for (const Setting& setting : run.settings) settings[setting.key] = setting.value;
    return {{"id", run.id},
            {"status", to_string(run.status)},
            {"reason", run.reason},
            {"seed", run.seed},
            {"settings", settings},
            {"case", run.case_name},
            {"config_hash", run.config_hash},
            {"rounds", run.rounds},
            {"workers", optional_json(run.workers)},
            {"attempts", run.attempts},
            {"wall_s", run.wall_s},
            {"cpu_s", run.cpu_s},
            {"peak_bytes", optional_json(run.peak_bytes)},
            {"estimate_s", run.estimate_s}};
}

RunRecord run_from_json(const ordered_json& json) {
    RunRecord run;
    run.id = json.at("id");
    if (const std::string problem = run_id_problem(run.id); !problem.empty())
        throw ConfigError(fmt::format("id of a run: {}", problem));
    run.status = status_from(json.at("status"));
    run.reason = json.at("reason");
    run.seed = json.at("seed");
    for (const auto& [key, value] : json.at("settings").items()) run.settings.push_back({key, value});
    run.case_name = json.value("case", "");
    run.config_hash = json.at("config_hash");
    run.rounds = json.at("rounds");
    run.workers = optional_from<std::int64_t>(json.at("workers"));
    run.attempts = json.at("attempts");
    run.wall_s = json.at("wall_s");
    run.cpu_s = json.at("cpu_s");
    run.peak_bytes = optional_from<std::uint64_t>(json.at("peak_bytes"));
    run.estimate_s = json.at("estimate_s");
    return run;
}

SweepRecord from_json(const ordered_json& json) {
    SweepRecord sweep;
    sweep.name = json.at("name");
    sweep.file = json.at("file").get<std::string>();
    sweep.overrides = json.at("set").get<std::vector<std::string>>();
    sweep.fedhive = json.at("fedhive");
    sweep.commit = json.at("commit");
    sweep.started = json.at("started");
    sweep.finished = optional_from<std::string>(json.at("finished")).value_or("");
    sweep.exit_status = json.at("exit_status");
    sweep.keys = json.at("keys").get<std::vector<std::string>>();
    sweep.target_accuracy = optional_from<double>(json.at("target_accuracy"));
    const ordered_json& early = json.at("early_stopping");
    sweep.early_stopping = {early.at("rule"), early.at("first_round"), early.at("factor")};
    sweep.decided = early.at("decided");
    sweep.jobs = json.at("jobs");
    sweep.cores = json.at("cores");
    sweep.wall_s = json.at("wall_s");
    for (const ordered_json& run : json.at("runs")) sweep.runs.push_back(run_from_json(run));
    sweep.gone = json.at("gone").get<std::vector<std::string>>();
    return sweep;
}

void describe_some(std::vector<std::string>& parts, std::vector<std::string> names, const char* what) {
    if (names.empty()) return;
    constexpr std::size_t kMostNames = 10;
    const std::size_t count = names.size();
    names.resize(std::min(count, kMostNames));
    parts.push_back(fmt::format("{} {} {} ({}{})", count, count == 1 ? "run is" : "runs are", what, fmt::join(names, "; "),
                                count > kMostNames ? "; …" : ""));
}

}  // namespace

std::string_view to_string(RunStatus status) { return kStatusNames[static_cast<std::size_t>(status)]; }

std::size_t SweepRecord::count(RunStatus status) const {
    return static_cast<std::size_t>(
        std::count_if(runs.begin(), runs.end(), [&](const RunRecord& run) { return run.status == status; }));
}

std::string config_hash(RunConfig config) {
    config.workers.reset();
    const std::string text = to_yaml(config);
    Sha256 hash;
    hash.update(text.data(), text.size());
    return hash.hex_digest();
}

SweepRecord plan_sweep(const SweepConfig& sweep, const std::vector<RunEstimate>& estimates) {
    FEDHIVE_CHECK_EQ(sweep.runs.size(), estimates.size());
    SweepRecord record{.name = sweep.name,
                       .file = sweep.file,
                       .overrides = sweep.overrides,
                       .fedhive = kVersion,
                       .commit = kCommit,
                       .started = utc_time(),
                       .keys = sweep.keys,
                       .target_accuracy = sweep.target_accuracy,
                       .early_stopping = sweep.early_stopping};
    for (std::size_t i = 0; i < sweep.runs.size(); ++i) {
        const SweepRun& run = sweep.runs[i];
        record.runs.push_back({.id = run.id,
                               .seed = run.config.seed,
                               .settings = run.settings,
                               .case_name = run.case_name,
                               .config_hash = config_hash(run.config),
                               .rounds = run.config.rounds,
                               .estimate_s = estimates[i].core_seconds});
    }
    return record;
}

ordered_json to_json(const SweepRecord& sweep) {
    ordered_json runs = ordered_json::array();
    for (const RunRecord& run : sweep.runs) runs.push_back(run_to_json(run));
    const EarlyStoppingConfig& early = sweep.early_stopping;
    return {{"schema", kSweepSchema},
            {"kind", "sweep"},
            {"name", sweep.name},
            {"file", sweep.file.string()},
            {"set", sweep.overrides},
            {"fedhive", sweep.fedhive},
            {"commit", sweep.commit},
            {"started", sweep.started},
            {"finished", sweep.finished.empty() ? ordered_json(nullptr) : ordered_json(sweep.finished)},
            {"exit_status", sweep.exit_status},
            {"keys", sweep.keys},
            {"target_accuracy", optional_json(sweep.target_accuracy)},
            {"early_stopping",
             {{"rule", early.rule}, {"first_round", early.first_round}, {"factor", early.factor}, {"decided", sweep.decided}}},
            {"jobs", sweep.jobs},
            {"cores", sweep.cores},
            {"wall_s", sweep.wall_s},
            {"runs", runs},
            {"gone", sweep.gone}};
}

SweepRecord read_sweep(const fs::path& folder) {
    const fs::path file = folder / "sweep.json";
    std::ifstream stream(file);
    if (!stream)
        throw ConfigError(
            fmt::format("{}: is not the folder of a sweep (it has no sweep.json){}; start one with: fedhive sweep "
                        "SWEEP.yaml --out {}",
                        folder.string(), fs::exists(folder) ? "" : nearest_folder(folder), folder.string()));
    try {
        const auto json = ordered_json::parse(stream);
        if (const ordered_json& schema = json.at("schema"); schema != kSweepSchema)
            throw ConfigError(fmt::format("has schema {}, this fedhive reads and writes {}", schema.dump(), kSweepSchema));
        return from_json(json);
    } catch (const nlohmann::json::exception& error) {
        throw ConfigError(fmt::format("{}: is damaged: {}", file.string(), error.what()));
    } catch (const ConfigError& error) {
        throw ConfigError(fmt::format("{}: {}", file.string(), error.what()));
    }
}

void write_sweep(const fs::path& folder, const SweepRecord& sweep) {
    // What a run printed last need not be UTF-8.
    write_file(folder / "sweep.json", to_json(sweep).dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

void keep_ids(const SweepRecord& before, SweepConfig& now) {
    const auto sorted = [](std::vector<Setting> settings) {
        std::sort(settings.begin(), settings.end(), [](const Setting& a, const Setting& b) { return a.key < b.key; });
        std::string text;
        for (const Setting& one : settings) text += fmt::format("{}={}\n", one.key, one.value);
        return text;
    };
    std::set<std::string> taken;
    for (const SweepRun& run : now.runs) taken.insert(run.id);
    std::multimap<std::string, const RunRecord*> left;  // by what they are; those whose names have not changed are out
    for (const RunRecord& run : before.runs)
        if (!taken.contains(run.id)) left.emplace(fmt::format("{}seed={}", sorted(run.settings), run.seed), &run);
    for (SweepRun& run : now.runs) {
        const auto same_id = [&](const RunRecord& known) { return known.id == run.id; };
        if (std::any_of(before.runs.begin(), before.runs.end(), same_id)) continue;
        const auto [first, last] = left.equal_range(fmt::format("{}seed={}", sorted(run.settings), run.config.seed));
        if (first == last) continue;
        // Several of one kind differ in what a replaced section no longer says.
        const auto exact =
            std::find_if(first, last, [&](const auto& one) { return one.second->config_hash == config_hash(run.config); });
        const auto found = exact == last && std::next(first) == last ? first : exact;
        if (found == last) continue;
        run.id = found->second->id;
        left.erase(found);
    }
}

std::string SweepChanges::describe() const {
    std::vector<std::string> parts;
    describe_some(parts, added, "new");
    describe_some(parts, gone, "gone");
    describe_some(parts, changed, "changed");
    return fmt::format("{}", fmt::join(parts, ", "));
}

SweepChanges find_changes(const SweepRecord& before, const SweepConfig& now) {
    std::map<std::string, std::string> hashes;
    for (const RunRecord& run : before.runs) hashes[run.id] = run.config_hash;
    SweepChanges changes;
    std::set<std::string> present;
    for (const SweepRun& run : now.runs) {
        present.insert(run.id);
        const auto known = hashes.find(run.id);
        if (known == hashes.end())
            changes.added.push_back(run.id);
        else if (known->second != config_hash(run.config))
            changes.changed.push_back(run.id);
    }
    for (const RunRecord& run : before.runs)
        if (!present.contains(run.id)) changes.gone.push_back(run.id);
    return changes;
}

}  // namespace fedhive::sim
