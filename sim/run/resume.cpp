#include "sim/run/resume.h"

#include "aggregation/base/error.h"
#include "aggregation/base/input_file.h"
#include "clients/data/data_format.h"
#include "clients/tasks/learning_task.h"
#include "sim/config/load_config.h"
#include "sim/machine/machine.h"
#include "sim/plan/run_reports.h"
#include "sim/record/json_value.h"
#include "sim/record/run_state.h"
#include "sim/run/checkpointer.h"
#include "sim/run/run_files.h"
#include "sim/run/run_folder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace fedhive::sim {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse_manifest(const fs::path& folder, const std::string& problem) {
    throw ConfigError(
        fmt::format("{}: {}; restore the file that the run wrote, or remove it, because the run can continue without it",
                    (folder / "manifest.json").string(), problem));
}

/// The run's manifest; null if a killed process had not written one yet.
nlohmann::json read_manifest(const fs::path& folder) {
    const fs::path file = folder / "manifest.json";
    const std::string text = read_file_if_there(file);
    if (text.empty()) return nullptr;
    auto manifest = nlohmann::json::parse(text, nullptr, false);
    if (!manifest.is_object()) refuse_manifest(folder, "is damaged: it is not a JSON object");
    const nlohmann::json schema = manifest.value("schema", nlohmann::json());
    if (schema != kResultSchema)
        throw ConfigError(fmt::format("{}: has schema {}, but this fedhive supports {}; resume with the fedhive that wrote it",
                                      file.string(), schema.dump(), kResultSchema));
    return manifest;
}

/// The parts of the manifest that a resumed run needs.
struct Before {
    std::string exit_status;
    std::string data_fingerprint;
    std::optional<std::int64_t> round;
    std::optional<WorkerChoice> workers;
    Past past;
};

/// The number of workers that auto chose, if this machine is like the one of that run.
std::optional<WorkerChoice> workers_before(const nlohmann::json& manifest) {
    const Machine machine = this_machine();
    const bool same_machine = optional_value<std::string>(manifest, "cpu") == machine.cpu &&
                              optional_value<std::int64_t>(manifest, "cores") == machine.cores;
    const auto workers = optional_value<std::uint32_t>(manifest, "workers");
    if (!same_machine || !workers) return std::nullopt;
    return choice_from(manifest.value("workers_auto", nlohmann::json()), *workers);
}

Before read_before(const fs::path& folder) {
    const nlohmann::json manifest = read_manifest(folder);
    Before before;
    try {
        const auto text = [&](const char* key) { return optional_value<std::string>(manifest, key).value_or(""); };
        before.exit_status = text("exit_status");
        before.data_fingerprint = text("data_fingerprint");
        before.round = optional_value<std::int64_t>(manifest, "round");
        if (manifest.is_object()) before.workers = workers_before(manifest);
        before.past.started = text("started");
        before.past.resumed = 1 + optional_value<std::int64_t>(manifest, "resumed").value_or(0);
        before.past.other_bits =
            optional_value<std::vector<std::string>>(manifest, "other_bits").value_or(std::vector<std::string>{});
    } catch (const ConfigError& error) {
        refuse_manifest(folder, error.what());
    }
    return before;
}

std::string shown(const std::string& value) { return value.empty() ? "(not given)" : value; }

/// Refuses all forbidden changes in one message; returns the allowed ones, for the record.
std::vector<std::string> check_changes(const std::vector<ConfigChange>& found, const fs::path& folder) {
    std::vector<std::string> refused;
    std::vector<std::string> allowed;
    for (const ConfigChange& change : found)
        (change.allowed ? allowed : refused)
            .push_back(fmt::format("{}: {} -> {}", change.key, shown(change.before), shown(change.after)));
    if (refused.empty()) return allowed;
    throw ConfigError(
        fmt::format("{}: the results so far depend on keys that have changed:\n  {}\nA resumed run may change: {}. For other "
                    "changes, start a new run in another folder",
                    folder.string(), fmt::join(refused, "\n  "), fmt::join(keys_that_may_change(), ", ")));
}

bool is_over(const RunConfig& config, const Checkpoint& checkpoint) {
    const Progress& progress = checkpoint.progress;
    const bool good_enough = progress.test && progress.test_round == checkpoint.round && progress.test->reaches(config.stop);
    return checkpoint.round >= config.rounds || good_enough;
}

/// True if a change asks a finished run for more rounds.
bool asks_for_more(const std::vector<ConfigChange>& found) {
    return std::any_of(found.begin(), found.end(),
                       [](const ConfigChange& change) { return change.key == "rounds" || change.key.rfind("stop.", 0) == 0; });
}

std::string how_it_finished(const std::optional<std::int64_t>& round, const RunConfig& config, const fs::path& folder) {
    const std::int64_t rounds = round.value_or(config.rounds);
    std::vector<std::string> keys, sets;
    for (const auto& [metric, target] : config.stop.test)
        if (target) {
            keys.push_back("stop.test_" + metric);
            sets.push_back(fmt::format("--set {}=null", keys.back()));
        }
    const std::string early = rounds < config.rounds ? fmt::format(" by {}, which {} take{} away", fmt::join(keys, " or "),
                                                                   fmt::join(sets, " "), keys.size() == 1 ? "s" : "")
                                                     : "";
    return fmt::format("{}: the run has finished after {} rounds{}; for more rounds: fedhive run --resume {} --set rounds=N",
                       folder.string(), rounds, early, folder.string());
}

/// Restores the models from which clients in flight started, each into its own region.
void restore_in_flight(Experiment& run, const CheckpointFile& from) {
    std::map<std::uint64_t, std::uint32_t> regions{{run.server.state.version, run.server.state.global_index}};
    const std::uint64_t num_slots = run.resources.arena->geometry().num_slots;
    run.server.state.in_flight = from.checkpoint.in_flight;
    for (InFlight& client : run.server.state.in_flight) {
        if (client.slot >= num_slots || client.client_id >= run.data.dataset.map().num_clients ||
            (regions.size() + 1 >= run.server.state.readers.size() && !regions.contains(client.version)))
            throw ConfigError(fmt::format("{}: client {} in slot {} does not fit a run with {} clients in {} slots",
                                          from.path.string(), client.client_id, client.slot, run.data.dataset.map().num_clients,
                                          num_slots));
        const auto [found, is_new] = regions.try_emplace(client.version, static_cast<std::uint32_t>(regions.size()));
        client.global_index = found->second;
        if (is_new)
            aggregation::copy(run.resources.arena->global(client.global_index),
                              read_vector(from, base_name(client.version), run.model.region));
    }
}

/// "; put the same files where data.root says, or …", naming the keys of the data's location; empty if the data are drawn.
std::string help_for_data(const RunConfig& config) {
    std::string keys;
    for (const KeySpec& key : clients::data_format(config.data.format).keys)
        if (key.may_change) keys += (keys.empty() ? "data." : " and data.") + key.name;
    if (keys.empty()) return "";
    return fmt::format("; put the same files where {} name{} them, or set their path: --set {}=PATH", keys,
                       keys.find(' ') == std::string::npos ? "s" : "", keys.substr(0, keys.find(' ')));
}

/// Restores what clients have, where they are sent changes. Its vector is one of the server's moments.
void restore_sent(ServerState& server, const CheckpointFile& from) {
    if (!server.sent || !server.sent->by_changes()) return;
    const Checkpoint& checkpoint = from.checkpoint;
    const auto is_past = [&](std::uint32_t round) { return round <= checkpoint.sent_round; };
    const bool is_near = checkpoint.sent_round == checkpoint.round || checkpoint.sent_round == checkpoint.round + 1;
    if (!is_near || checkpoint.heard.size() != server.sent->heard.size() || !std::ranges::all_of(checkpoint.heard, is_past))
        throw ConfigError(fmt::format(
            "{}: what {} clients have of round {} is not the state of a run of {} clients after round {}", from.path.string(),
            checkpoint.heard.size(), checkpoint.sent_round, server.sent->heard.size(), checkpoint.round));
    server.sent->round = checkpoint.sent_round;
    server.sent->heard = checkpoint.heard;
}

/// Restores a checkpoint's model, moments, counts and clients in flight into `run`.
void restore(Experiment& run, const CheckpointFile& from) {
    const Checkpoint& checkpoint = from.checkpoint;
    if (checkpoint.data_fingerprint != run.data.fingerprint)
        throw ConfigError(fmt::format(
            "{}: the data set differs from the one at the start of the run: fingerprint {:016x} then, {:016x} now{}",
            from.path.string(), checkpoint.data_fingerprint, run.data.fingerprint, help_for_data(run.config)));
    if (checkpoint.layout_fingerprint != run.model.layout.fingerprint())
        throw ConfigError(fmt::format(
            "{}: this fedhive builds model '{}' differently from the one that wrote the checkpoint: layout fingerprint {:016x} "
            "then, {:016x} now; resume with the fedhive that began the run",
            from.path.string(), run.model.spec.name.get(), checkpoint.layout_fingerprint, run.model.layout.fingerprint()));
    if (const std::string record = record_text(run.model.memories); checkpoint.record != record)
        throw ConfigError(fmt::format(
            "{}: the memories of clients differ: {} in the checkpoint, {} in this fedhive; resume with the fedhive that "
            "began the run",
            from.path.string(), checkpoint.record.empty() ? "one" : checkpoint.record, record.empty() ? "one" : record));
    aggregation::copy(run.server.state.region(), read_vector(from, "model", run.model.region));
    for (const aggregation::Moment& moment : run.server.moments())
        aggregation::copy(moment.values, read_vector(from, std::string("server.") + moment.name, run.model.region));
    aggregation::copy(run.resources.arena->frozen(), read_vector(from, "frozen", run.model.frozen));
    read_client_states(from, run.server.client_states);
    run.server.state.round = checkpoint.round;
    run.server.state.last_step = checkpoint.progress.last_step;
    run.server.state.version = checkpoint.version;
    run.server.state.now_s = checkpoint.now_s;
    run.server.state.sampler = checkpoint.sampler;
    if (!run.sampler->restore(checkpoint.sampler))
        throw ConfigError(fmt::format("{}: '{}' is not a state of sampler '{}' in a run with {} clients", from.path.string(),
                                      checkpoint.sampler, run.config.sampling.name, run.data.dataset.map().num_clients));
    if (!run.server.weighing.restore(checkpoint.weights))
        throw ConfigError(fmt::format("{}: '{}' is not a state of aggregator '{}' in a run with {} clients", from.path.string(),
                                      checkpoint.weights, run.config.strategy.parts.aggregator.name,
                                      run.data.dataset.map().num_clients));
    if (run.server.clip.adapts() && !(checkpoint.clip_norm > 0.0 && std::isfinite(checkpoint.clip_norm)))
        throw ConfigError(fmt::format("{}: {} is not a norm of adaptive_clip", from.path.string(), checkpoint.clip_norm));
    run.server.state.clip_norm = checkpoint.clip_norm;
    restore_sent(run.server.state, from);
    restore_in_flight(run, from);
    aggregation::synchronize(run.resources.space);
}

LoadedConfig load_wanted(const ResumeOptions& options) {
    return load_config(options.config.empty() ? options.folder / "config.yaml" : options.config, options.overrides);
}

}  // namespace

std::optional<CheckpointFile> newest_checkpoint(const fs::path& folder, std::int64_t round, std::vector<std::string>& damaged) {
    const std::vector<std::int64_t> rounds = checkpoint_rounds(folder);
    for (std::size_t i = rounds.size(); i-- > 0;) {
        if (rounds[i] > round) continue;
        try {
            return read_checkpoint(checkpoint_path(folder, rounds[i]));
        } catch (const DamagedCheckpoint& error) {
            damaged.emplace_back(error.what());
        }
    }
    return std::nullopt;
}

Resumption find_resumption(const ResumeOptions& options) {
    const fs::path& folder = options.folder;
    const Before so_far = read_before(folder);
    Resumption found;
    found.folder = folder;
    found.loaded = load_wanted(options);
    found.from = newest_checkpoint(folder, std::numeric_limits<std::int64_t>::max(), found.point.damaged);
    const RunConfig stored = from_yaml(read_file(folder / "config.yaml"), (folder / "config.yaml").string(), folder);
    const RunConfig before = found.from ? from_yaml(found.from->checkpoint.config, "the checkpoint's config", folder) : stored;
    RunConfig& wanted = found.loaded.run;
    if (wanted.device == Device::Auto) wanted.device = before.device;  // as chosen then
    if (!wanted.model.file.empty() && wanted.model.file_sha256.empty()) wanted.model.file_sha256 = before.model.file_sha256;
    if (!wanted.data.partition.clients && before.data.partition.clients)
        found.loaded = with_clients(std::move(found.loaded), *before.data.partition.clients);
    const std::vector<ConfigChange> differing = changes(before, wanted);
    found.point.changed = check_changes(differing, folder);
    found.config_changed = !changes(stored, wanted).empty();
    found.data_fingerprint = so_far.data_fingerprint;
    found.workers = so_far.workers;
    found.past = so_far.past;
    if (found.from) {
        const Checkpoint& checkpoint = found.from->checkpoint;
        if (wanted.rounds < checkpoint.round)
            throw found.loaded.source->error(
                "rounds", fmt::format("{} is less than the {} rounds already done; allowed: {} or more", wanted.rounds,
                                      checkpoint.round, checkpoint.round));
        if (checkpoint.round > 0) check_tables(folder, checkpoint.tables, checkpoint.round, wanted);
        found.over = is_over(wanted, checkpoint);
        found.past.progress = checkpoint.progress;
        found.point.round = checkpoint.round;
        found.point.tables = checkpoint.tables;
        found.point.checkpoint = fs::relative(checkpoint_path(folder, checkpoint.round), folder).string();
    }
    found.point.done_again = std::max<std::int64_t>(0, rounds_in_table(folder) - found.point.round);
    if (state_told(so_far.exit_status) == RunState::Finished && (found.over || !asks_for_more(differing)))
        found.finished = how_it_finished(so_far.round, wanted, folder);
    return found;
}

Resumption find_start(const fs::path& folder, std::int64_t round) {
    Resumption found;
    found.folder = folder;
    std::vector<std::string> overrides{"workers=0"};
    if (fs::exists(folder / kRuleSource)) overrides.push_back("strategy.rule=" + fs::absolute(folder / kRuleSource).string());
    if (fs::exists(folder / kVisitSource))
        overrides.push_back("strategy.visit=" + fs::absolute(folder / kVisitSource).string());
    if (const fs::path method = kept_method(folder); fs::exists(method))
        overrides.push_back("strategy.file=" + fs::absolute(method).string());
    found.loaded = load_config(folder / "config.yaml", overrides);
    found.from = newest_checkpoint(folder, round, found.point.damaged);
    if (found.from)
        check_changes(changes(from_yaml(found.from->checkpoint.config, "the checkpoint's config", folder), found.loaded.run),
                      folder);
    found.data_fingerprint = read_before(folder).data_fingerprint;
    return found;
}

void take_up(Experiment& run, Resumption& resumption, bool allow_other_bits) {
    const std::string folder = resumption.folder.string();
    if (!resumption.from) {
        if (!run.config.model.init.empty())
            throw ConfigError(
                fmt::format("{}: the run began with a model file (model.init), but its copy in checkpoints/ is missing or "
                            "damaged; start the run again with --overwrite",
                            folder));
        const std::string present = fmt::format("{:016x}", run.data.fingerprint);
        if (!resumption.data_fingerprint.empty() && resumption.data_fingerprint != present)
            throw ConfigError(
                fmt::format("{}: the data set differs from the one at the start of the run: fingerprint {} then, {} now",
                            folder, resumption.data_fingerprint, present));
        return run.begin_anew(resumption.loaded);
    }
    const Checkpoint& checkpoint = resumption.from->checkpoint;
    // Before round 1 nothing was computed, so nothing can differ.
    const auto other =
        checkpoint.round == 0 ? std::vector<std::string>{} : differences(checkpoint.environment, environment_of(run));
    if (!other.empty() && !allow_other_bits)
        throw ConfigError(
            fmt::format("{}: this process would give different last bits than the run so far ({}); resume the run where it "
                        "began, or add --allow-other-bits; its result will then differ from that of an uninterrupted run",
                        folder, fmt::join(other, "; ")));
    restore(run, *resumption.from);
    std::vector<std::string>& noted = resumption.past.other_bits;
    noted.insert(noted.end(), other.begin(), other.end());
}

}  // namespace fedhive::sim
