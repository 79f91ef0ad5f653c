#include "sim/sweep/sweep_record.h"

#include "aggregation/base/error.h"
#include "aggregation/base/input_file.h"
#include "aggregation/base/sha256.h"
#include "clients/data/partition.h"
#include "clients/tasks/learning_task.h"
#include "sim/config/load_config.h"
#include "sim/config/suggest.h"
#include "sim/record/durable_file.h"
#include "sim/record/json_value.h"
#include "sim/record/utc_time.h"
#include "sim/version.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace fedhive::sim {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

namespace {

RunState status_from(const std::string& word) {
    if (const auto state = state_in_sweep(word)) return *state;
    throw ConfigError(fmt::format("status '{}' is unknown", word));
}

/// The value of the word at a key.
template <Worded Enum>
Enum choice_at(const ordered_json& json, const char* key) {
    const auto word = value_at<std::string>(json, key);
    if (const auto value = from_word<Enum>(word)) return *value;
    throw ConfigError(fmt::format("{} '{}' is unknown", key, word));
}

/// Checked, since a run's id is a file name in three folders.
std::string id_at(const ordered_json& json) {
    auto id = value_at<std::string>(json, "id");
    if (const std::string problem = run_id_problem(id); !problem.empty())
        throw ConfigError(fmt::format("is damaged: id of a run: {}", problem));
    return id;
}

template <typename T>
ordered_json optional_json(const std::optional<T>& value) {
    return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json run_to_json(const RunRecord& run) {
    ordered_json settings = ordered_json::object();
    for (const Setting& setting : run.settings) settings[setting.key] = setting.value;
    return {{"id", run.id},
            {"status", word_of(run.status)},
            {"reason", run.reason},
            {"seed", run.seed},
            {"settings", settings},
            {"case", run.case_name},
            {"weighting", run.weighting},
            {"config_hash", run.config_hash},
            {"rounds", run.rounds},
            {"workers", optional_json(run.workers)},
            {"host", run.host},
            {"attempts", run.attempts},
            {"wall_s", run.wall_s},
            {"cpu_s", run.cpu_s},
            {"peak_bytes", optional_json(run.peak_bytes)},
            {"estimate_s", run.estimate_s}};
}

RunRecord run_from_json(const ordered_json& json) {
    RunRecord run;
    run.id = id_at(json);
    run.status = status_from(value_at<std::string>(json, "status"));
    run.reason = value_at<std::string>(json, "reason");
    run.seed = value_at<std::uint64_t>(json, "seed");
    for (const auto& [key, value] : json.at("settings").items()) run.settings.push_back({key, value});
    run.case_name = json.contains("case") ? value_at<std::string>(json, "case") : "";
    run.weighting = json.contains("weighting") ? value_at<std::string>(json, "weighting") : "";
    run.config_hash = value_at<std::string>(json, "config_hash");
    run.rounds = value_at<std::int64_t>(json, "rounds");
    run.workers = optional_value<std::int64_t>(json, "workers");
    run.host = json.contains("host") ? value_at<std::string>(json, "host") : "";
    run.attempts = value_at<std::int64_t>(json, "attempts");
    run.wall_s = value_at<double>(json, "wall_s");
    run.cpu_s = value_at<double>(json, "cpu_s");
    run.peak_bytes = optional_value<std::uint64_t>(json, "peak_bytes");
    run.estimate_s = value_at<double>(json, "estimate_s");
    return run;
}

SweepRecord from_json(const ordered_json& json) {
    using Texts = std::vector<std::string>;
    SweepRecord sweep;
    sweep.name = value_at<std::string>(json, "name");
    sweep.file = value_at<std::string>(json, "file");
    sweep.overrides = value_at<Texts>(json, "set");
    sweep.fedhive = value_at<std::string>(json, "fedhive");
    sweep.commit = value_at<std::string>(json, "commit");
    sweep.started = value_at<std::string>(json, "started");
    sweep.finished = optional_value<std::string>(json, "finished").value_or("");
    sweep.exit_status = value_at<std::string>(json, "exit_status");
    sweep.keys = value_at<Texts>(json, "keys");
    for (const clients::Metric& metric : clients::metric_catalog())
        if (const std::string key = "target_" + metric.name; json.contains(key))  // earlier versions knew fewer
            sweep.targets[metric.name] = optional_value<double>(json, key.c_str());
    const ordered_json& early = json.at("early_stopping");
    sweep.early_stopping = {choice_at<StoppingRule>(early, "rule"), value_at<std::int64_t>(early, "first_round"),
                            value_at<std::int64_t>(early, "factor")};
    sweep.decided = value_at<std::int64_t>(early, "decided");
    sweep.jobs = value_at<std::int64_t>(json, "jobs");
    sweep.cores = value_at<std::int64_t>(json, "cores");
    if (json.contains("hosts")) sweep.hosts = value_at<Texts>(json, "hosts");
    sweep.wall_s = value_at<double>(json, "wall_s");
    for (const ordered_json& run : json.at("runs")) sweep.runs.push_back(run_from_json(run));
    sweep.gone = value_at<Texts>(json, "gone");
    return sweep;
}

std::string read_record_text(const fs::path& folder, const fs::path& file) {
    try {
        return read_file(file);
    } catch (const FileError& error) {
        if (error.problem != FileProblem::Missing) throw;
        throw ConfigError(
            fmt::format("{}: is not the folder of a sweep (it has no sweep.json){}; start one with: fedhive sweep "
                        "SWEEP.yaml --out {}",
                        folder.string(), fs::exists(folder) ? "" : nearest_folder(folder), folder.string()));
    }
}

void describe_some(std::vector<std::string>& parts, std::vector<std::string> names, const char* what) {
    if (names.empty()) return;
    constexpr std::size_t kMostNames = 10;
    const std::size_t count = names.size();
    names.resize(std::min(count, kMostNames));
    parts.push_back(fmt::format("{} {} {} ({}{})", count, count == 1 ? "run is" : "runs are", what, fmt::join(names, "; "),
                                count > kMostNames ? "; …" : ""));
}

std::string sorted(std::vector<Setting> settings) {
    std::sort(settings.begin(), settings.end(), [](const Setting& a, const Setting& b) { return a.key < b.key; });
    std::string text;
    for (const Setting& one : settings) text += fmt::format("{}={}\n", one.key, one.value);
    return text;
}

/// A run without an id from the record yet, or a run of the record whose id is still free.
struct Open {
    SweepRun* run;
    std::string hash;
};
using Left = std::vector<const RunRecord*>;

/// Each open run takes the id of the record with the same key, if there is exactly one.
template <typename KeyOfRun, typename KeyOfRecord>
void take_ids(Left& left, std::vector<Open>& open, const KeyOfRun& key_of_run, const KeyOfRecord& key_of_record) {
    std::multimap<std::string, const RunRecord*> by_key;
    for (const RunRecord* known : left) by_key.emplace(key_of_record(*known), known);
    std::erase_if(open, [&](const Open& one) {
        const auto [first, last] = by_key.equal_range(key_of_run(one));
        if (first == last || std::next(first) != last) return false;
        one.run->id = first->second->id;
        std::erase(left, first->second);
        by_key.erase(first);
        return true;
    });
}

}  // namespace

std::size_t SweepRecord::count(RunState status) const {
    return static_cast<std::size_t>(
        std::count_if(runs.begin(), runs.end(), [&](const RunRecord& run) { return run.status == status; }));
}

std::string config_hash(RunConfig config) {
    config.workers.reset();
    config.model.file_sha256.clear();  // set by the run itself
    // So is the number of clients that the data name.
    if (clients::partition_scheme(config.data.partition.scheme).names_clients) config.data.partition.clients.reset();
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
                       .targets = sweep.targets,
                       .early_stopping = sweep.early_stopping};
    for (std::size_t i = 0; i < sweep.runs.size(); ++i) {
        const SweepRun& run = sweep.runs[i];
        record.runs.push_back({.id = run.id,
                               .seed = run.config.seed,
                               .settings = run.settings,
                               .case_name = run.case_name,
                               .weighting = word_of(run.config.strategy.weighting),
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
    ordered_json json{{"schema", kSweepSchema},
                      {"kind", "sweep"},
                      {"name", sweep.name},
                      {"file", sweep.file.string()},
                      {"set", sweep.overrides},
                      {"fedhive", sweep.fedhive},
                      {"commit", sweep.commit},
                      {"started", sweep.started},
                      {"finished", sweep.finished.empty() ? ordered_json(nullptr) : ordered_json(sweep.finished)},
                      {"exit_status", sweep.exit_status},
                      {"keys", sweep.keys}};
    for (const clients::Metric& metric : clients::metric_catalog())
        json["target_" + metric.name] = optional_json(sweep.targets.of(metric.name));
    json.update(ordered_json{{"early_stopping",
                              {{"rule", word_of(early.rule)},
                               {"first_round", early.first_round},
                               {"factor", early.factor},
                               {"decided", sweep.decided}}},
                             {"jobs", sweep.jobs},
                             {"cores", sweep.cores},
                             {"hosts", sweep.hosts},
                             {"wall_s", sweep.wall_s},
                             {"runs", runs},
                             {"gone", sweep.gone}});
    return json;
}

SweepRecord read_sweep(const fs::path& folder) {
    const fs::path file = folder / kSweepFile;
    const std::string text = read_record_text(folder, file);
    try {
        const auto json = ordered_json::parse(text);
        if (const ordered_json& schema = json.at("schema"); schema != kSweepSchema)
            throw ConfigError(fmt::format("has schema {}, but this fedhive supports {}", schema.dump(), kSweepSchema));
        return from_json(json);
    } catch (const nlohmann::json::exception& error) {
        throw ConfigError(fmt::format("{}: is damaged: {}", file.string(), error.what()));
    } catch (const ConfigError& error) {
        throw ConfigError(fmt::format("{}: {}", file.string(), error.what()));
    }
}

void write_sweep(const fs::path& folder, const SweepRecord& sweep) {
    // A run's last message need not be UTF-8.
    write_file(folder / kSweepFile, to_json(sweep).dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

void keep_ids(const SweepRecord& before, SweepConfig& now) {
    Left left;
    for (const RunRecord& run : before.runs) left.push_back(&run);
    std::vector<Open> open;
    for (SweepRun& run : now.runs) open.push_back({&run, config_hash(run.config)});
    const auto settings = [](const auto& run, std::uint64_t seed) {
        return fmt::format("{}seed={}", sorted(run.settings), seed);
    };
    const auto run_settings = [&](const Open& one) { return settings(*one.run, one.run->config.seed); };
    const auto record_settings = [&](const RunRecord& known) { return settings(known, known.seed); };
    take_ids(
        left, open, [](const Open& one) { return one.hash + one.run->id; },
        [](const RunRecord& known) { return known.config_hash + known.id; });
    take_ids(
        left, open, [&](const Open& one) { return one.hash + run_settings(one); },
        [&](const RunRecord& known) { return known.config_hash + record_settings(known); });
    take_ids(
        left, open, [](const Open& one) { return one.run->id; }, [](const RunRecord& known) { return known.id; });
    take_ids(left, open, run_settings, record_settings);
    std::map<std::string, int> uses;
    for (const SweepRun& run : now.runs) ++uses[run.id];
    for (const Open& one : open)  // new, with an id that a run had before its case was renamed
        if (uses[one.run->id] > 1) one.run->id = fmt::format("{}-{}", one.run->id.substr(0, 91), one.hash.substr(0, 8));
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
