#include "sim/run/reporter.h"

#include "aggregation/base/error.h"
#include "clients/models/model_plan.h"
#include "clients/tasks/learning_task.h"
#include "clients/trainers/libtorch_info.h"
#include "sim/fleet/fleet.h"
#include "sim/machine/machine.h"
#include "sim/plan/engine_choice.h"
#include "sim/plan/model_spec.h"
#include "sim/plan/placement.h"
#include "sim/record/run_state.h"
#include "sim/round/fairness.h"
#include "sim/run/model_metadata.h"
#include "sim/run/run_plan.h"
#include "sim/state/model_file.h"
#include "sim/version.h"

#include <cmath>

namespace fedhive::sim {

namespace {

/// Further failures are only counted on the screen: with faults injected at a rate there can be thousands.
constexpr std::size_t kMostFailuresShown = 20;

/// Adds what the result depends on besides the config: program, libraries, machine.
void add_surroundings(nlohmann::ordered_json& manifest, const Experiment& run) {
    const clients::LibtorchInfo torch = clients::libtorch_info();
    const Machine machine = this_machine();
    manifest["fedhive"] = kVersion;
    manifest["commit"] = kCommit;
    manifest["libtorch"] = torch.version;
    manifest["cpu_capability"] = torch.cpu_capability;
    manifest["cpu"] = machine.cpu;
    manifest["cores"] = machine.cores;
    manifest["device"] = word_of(device_of(run.resources.space));
    manifest["engine"] = word_of(run.worker_plan.engine);
    if (run.worker_plan.engine == clients::Engine::Direct) manifest["kernels"] = direct_kernels(run.resources.space);
    // On the CPU, tf32 means f32, and there is no CUDA graph.
    const clients::Precision precision = run.config.training.precision;
    const bool tf32_on_cpu = run.resources.space == aggregation::MemorySpace::Host && precision == clients::Precision::TF32;
    manifest["precision"] = word_of(tf32_on_cpu ? clients::Precision::F32 : precision);
    manifest["graph"] = run.worker_plan.graph;
    manifest["cuda"] = aggregation::cuda_versions().describe();
}

nlohmann::ordered_json to_json(const Seeds& seeds) {
    return {{"data", seeds.data},
            {"partition", seeds.partition},
            {"model", seeds.model},
            {"sampling", seeds.sampling},
            {"training", seeds.training}};
}

nlohmann::ordered_json ranks_to_json(const Ranks& ranks) {
    auto all = nlohmann::ordered_json::array();
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
        all.push_back({{"host", ranks.hosts()[rank]}, {"workers", ranks.num_workers(rank)}});
        if (!ranks.device(rank).empty()) all.back()["gpu"] = ranks.device(rank);
    }
    return all;
}

/// "no update was accepted": why the rounds left the model unchanged.
std::string without_step(const Experiment& run) {
    const std::uint64_t least = run.server.least_updates;
    return least == 1 ? "no update was accepted" : fmt::format("fewer than {} updates were accepted", least);
}

/// "from the beginning: there is no checkpoint; 3 rounds of rounds.csv are done again"
std::string where_it_goes_on(const ResumePoint& point, std::int64_t rounds) {
    std::string text;
    if (!point.checkpoint.empty())
        text = fmt::format("after round {} of {}, from {}", point.round, rounds, point.checkpoint);
    else if (!point.damaged.empty())
        text = "from the beginning, because no checkpoint is usable";
    else
        text = fmt::format("from the beginning, because there is no checkpoint{}", point.done_again == 0 ? " yet" : "");
    if (point.done_again == 0) return text;
    return text + fmt::format("; {} {} rounds.csv {} done again", point.done_again,
                              point.done_again == 1 ? "round of" : "rounds of", point.done_again == 1 ? "is" : "are");
}

}  // namespace

Reporter::Reporter(const Experiment& run, RunFolder* folder, bool quiet, Past past)
    : run_(run),
      folder_(folder),
      console_(clients::learning_task(run.config.task).main_metric().title, quiet || folder == nullptr, run.ranks.is_alone()),
      past_(std::move(past)),
      start_ns_(now_ns()) {
    if (past_.started.empty()) past_.started = utc_time();
}

void Reporter::start() {
    if (folder_ == nullptr) return;
    write_manifest(word_of(RunState::Running));
    folder_->add_partition(run_.data.dataset, run_.config.data.skew.resolved());
    folder_->add_event("started", {{"rounds", run_.config.rounds}, {"workers", run_.resources.num_workers}});
    console_.say(describe_plan(run_, folder_->path().string()));
}

void Reporter::resume(const ResumePoint& point) {
    if (folder_ == nullptr) return;
    write_manifest(word_of(RunState::Running));
    folder_->go_back_to(point.tables, point.round);
    folder_->add_partition(run_.data.dataset, run_.config.data.skew.resolved());  // a run killed at its start has none
    for (const std::string& message : point.damaged) folder_->add_event("damaged_checkpoint", {{"message", message}});
    folder_->add_event("resumed",
                       {{"round", point.round},
                        {"checkpoint", point.checkpoint.empty() ? nlohmann::json(nullptr) : nlohmann::json(point.checkpoint)},
                        {"rounds", run_.config.rounds},
                        {"workers", run_.resources.num_workers},
                        {"done_again", point.done_again},
                        {"changed", point.changed}});
    for (const std::string& message : point.damaged) console_.say("damaged     " + message);
    for (const std::string& change : point.changed) console_.say("changed     " + change);
    console_.say("resumed     " + where_it_goes_on(point, run_.config.rounds));
    console_.say(describe_plan(run_, folder_->path().string()));
}

Console::LiveLine Reporter::start_rounds(Fleet& fleet) {
    fleet_ = &fleet;
    fleet.restore(past_.progress.failures);
    if (folder_ != nullptr)
        fleet.on_failure(
            [this](const clients::ClientFailure& failure, FailureAction action) { note_failure(failure, action); });
    return console_.start_rounds(run_.server.state.round, run_.config.rounds, fleet);
}

RoundRecord Reporter::begin(const ServerState& server) const {
    RoundRecord record;
    record.round = server.round + 1;
    record.origin_ns = start_ns_ - std::llround(past_.progress.wall_s * 1e9);
    return record;
}

void Reporter::report(const RoundRecord& round, const Arrivals& arrived, const ServerState& server) {
    Progress& progress = past_.progress;
    for (std::size_t i = 0; i < kNumPhases; ++i) progress.phase_seconds[i] += round.seconds[i];
    if (round.test) {
        progress.test = round.test;
        progress.test_round = round.round;
    }
    if (round.stepped) progress.last_step = round.round;
    if (round.on_clients) clients_mean_ = fairness_of(round.on_clients->global).mean;
    progress.failures = fleet_->failure_counts();
    if (folder_ == nullptr) return;
    folder_->add_round(round, arrived, server);
    console_.show_round(round, arrived, server);
}

Progress Reporter::progress() const {
    Progress progress = past_.progress;
    progress.wall_s += seconds_between(start_ns_, now_ns());
    return progress;
}

void Reporter::require_step() const {
    if (past_.progress.last_step > 0) return;
    throw Fault(fmt::format(
        "{} in any of {} rounds, so the model has not changed since the start of the run; events.jsonl has {} failures",
        without_step(run_), run_.server.state.round, past_.progress.failures.failures));
}

void Reporter::finish() {
    require_step();
    if (folder_ == nullptr) return;
    folder_->expect_whole_tables();
    const aggregation::HostView model = run_.server.global_model();
    const bool evaluated = past_.progress.test_round == run_.server.state.round;
    const aggregation::HostView frozen = run_.server.frozen_values();
    write_model(folder_->path() / "model.safetensors", {{run_.model.layout, model}, {run_.model.frozen, frozen}},
                model_metadata(run_, evaluated ? past_.progress.test : std::nullopt), clients::other_tensors(run_.model.spec));
    folder_->add_event("finished", {{"version", run_.server.state.version}});
    write_manifest(word_of(RunState::Finished));  // last: it says that all files of the run are complete
    const std::optional<Metrics>& test = past_.progress.test;
    const std::string title = clients::learning_task(run_.config.task).main_metric().title;
    const std::string quality = test ? fmt::format("test {} {:.4f}, ", title, test->main()) : "";
    const std::string on_clients = clients_mean_ ? fmt::format("clients' mean {} {:.4f}, ", title, *clients_mean_) : "";
    const std::int64_t last_step = past_.progress.last_step;
    if (last_step < run_.server.state.round)
        console_.say(fmt::format("\n{} after round {} of {}; the model is that of this round", without_step(run_), last_step,
                                 run_.server.state.round),
                     Tone::Bad);
    console_.say(
        fmt::format("\n{}{}{} server steps in {:.1f} s", quality, on_clients, run_.server.state.version, progress().wall_s),
        Tone::Good);
    console_.say(
        fmt::format("model_sha256 {}\nresults in {}", model_sha256(run_.model.layout, model), folder_->path().string()));
}

void Reporter::note_failure(const clients::ClientFailure& failure, FailureAction action) {
    past_.progress.failures = fleet_->failure_counts();
    folder_->add_event("failure", {{"kind", to_string(failure.kind)},
                                   {"worker", failure.worker},
                                   {"client", failure.client_id},
                                   {"round", failure.round},
                                   {"attempt", failure.attempt},
                                   {"action", to_string(action)},
                                   {"message", failure.message}});
    // The message of an aborted run says this anyway; an injected non-participation is no news.
    if (action == FailureAction::Aborted || failure.kind == clients::FailureKind::Dropped) return;
    if (++failures_shown_ <= kMostFailuresShown)
        console_.say(fmt::format("{}: {}", to_string(action), failure.describe()), Tone::Bad);
    if (failures_shown_ == kMostFailuresShown) console_.say("(further failures are in events.jsonl)");
}

std::string Reporter::how_to_go_on(const std::string& what) const {
    const std::string done = fmt::format("{} after {} of {} rounds", what, run_.server.state.round, run_.config.rounds);
    if (diverged_) return done + "; resuming it would fail in the same way; start a new run with other values";
    return fmt::format("{}; go on with: fedhive run --resume {}", done, folder_->path().string());
}

void Reporter::paused() {
    if (folder_ == nullptr) return;
    folder_->expect_whole_tables();
    stopped(paused_after(run_.server.state.round));
    console_.say(how_to_go_on("paused"));
}

void Reporter::interrupted(const std::string& signal) {
    if (folder_ == nullptr) return;
    folder_->expect_whole_tables();
    stopped(word_of(RunState::Interrupted) + " by " + signal);
    console_.say(how_to_go_on("interrupted"));
}

void Reporter::failed(const std::string& error, bool diverged) {
    if (folder_ == nullptr) return;
    diverged_ = diverged;
    try {
        stopped(word_of(RunState::Failed) + ": " + error);
    } catch (const std::exception&) {
        // If the disk is full or gone, this write fails, too; the run's own error matters more.
    }
    if (diverged || run_.server.state.round < run_.config.rounds) console_.say(how_to_go_on("stopped"), Tone::Bad);
}

void Reporter::stopped(const std::string& exit_status) {
    write_manifest(exit_status);
    folder_->add_event("stopped", {{"exit_status", exit_status}});
}

nlohmann::json Reporter::final_hash() const {
    try {
        return model_sha256(run_.model.layout, run_.server.global_model());
    } catch (const std::exception&) {
        return nullptr;  // a failed device does not return its model; the run's own error matters more
    }
}

void Reporter::write_manifest(const std::string& exit_status) const {
    const bool over = state_told(exit_status) != RunState::Running;
    nlohmann::ordered_json manifest;
    manifest["schema"] = kResultSchema;
    manifest["name"] = run_.config.name;
    manifest["exit_status"] = exit_status;
    manifest["started"] = past_.started;
    manifest["finished"] = over ? nlohmann::json(utc_time()) : nlohmann::json(nullptr);
    add_surroundings(manifest, run_);
    manifest["workers"] = run_.resources.num_workers;
    if (!run_.ranks.is_alone()) manifest["ranks"] = ranks_to_json(run_.ranks);
    manifest["mps"] = run_.resources.workers.mps;
    manifest["workers_auto"] = to_json(run_.resources.workers);
    manifest["threads"] = run_.config.threads;
    manifest["seed"] = run_.config.seed;
    manifest["seeds"] = to_json(run_.config.all_seeds());
    manifest["task"] = run_.config.task;
    manifest["strategy"] = run_.config.strategy.title();
    manifest["mode"] = run_.config.mode.name;
    manifest["num_clients"] = run_.data.dataset.map().num_clients;
    manifest["num_parameters"] = run_.model.layout.num_values();
    if (run_.model.spec.exported.given()) manifest["model_form"] = form_of(run_.model.spec);
    if (!run_.model.frozen.entries().empty()) manifest["num_frozen"] = run_.model.frozen.num_values();
    if (!run_.model.local_part.empty()) manifest["num_local"] = run_.model.local_part.num_floats();
    manifest["layout_fingerprint"] = fmt::format("{:016x}", run_.model.layout.fingerprint());
    manifest["data_fingerprint"] = fmt::format("{:016x}", run_.data.fingerprint);
    manifest["partition_fingerprint"] = fmt::format("{:016x}", run_.data.partition_fingerprint);
    manifest["warnings"] = run_.warnings();
    manifest["diverged"] = diverged_;
    manifest["version"] = run_.server.state.version;
    manifest["model_sha256"] = over ? final_hash() : nlohmann::json(nullptr);
    if (const std::optional<Metrics>& test = past_.progress.test) {
        manifest["test_loss"] = test->test_loss;
        for (const NamedMetric& metric : test->of_task) manifest["test_" + metric.name] = metric.value;
    }
    manifest["wall_s"] = seconds_to_json(progress());
    manifest["round"] = run_.server.state.round;
    manifest["last_step"] = past_.progress.last_step;
    manifest["in_flight"] = run_.server.state.in_flight.size();
    manifest["resumed"] = past_.resumed;
    manifest["other_bits"] = past_.other_bits;
    manifest["failures"] = to_json(past_.progress.failures);
    folder_->write_manifest(manifest);
}

}  // namespace fedhive::sim
