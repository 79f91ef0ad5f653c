#include "sim/reporter.h"

#include "clients/training/libtorch_info.h"
#include "sim/machine.h"
#include "sim/model_file.h"
#include "sim/version.h"

namespace fedhive::sim {

Reporter::Reporter(const Experiment& run, RunFolder& folder, bool quiet)
    : run_(run), folder_(folder), console_(quiet), started_(utc_time()), start_ns_(now_ns()) {
    write_manifest("running");
    folder_.add_event("started", {{"rounds", run.config.rounds}, {"workers", run.num_workers}});
    console_.show_plan(run, folder.path().string());
}

Console::LiveLine Reporter::start_rounds(const Fleet& fleet) {
    return console_.start_rounds(run_.config.rounds, [&fleet] { return fleet.tasks_done(); });
}

RoundRecord Reporter::begin(const ServerState& server) const {
    RoundRecord record;
    record.round = server.round + 1;
    return record;
}

void Reporter::report(const RoundRecord& round, const Arrivals& arrived, const ServerState& server) {
    for (std::size_t i = 0; i < kNumPhases; ++i) phase_seconds_[i] += round.seconds[i];
    if (round.test) last_test_ = round.test;
    folder_.add_round(round, arrived, server, run_.layout.num_values() * sizeof(float));
    console_.show_round(round, arrived, server);
}

void Reporter::finish() {
    const std::vector<float> model = run_.global_model();
    write_model(folder_.path() / "model.safetensors", run_.layout, model,
                {{"fedhive", kVersion}, {"name", run_.config.name}, {"round", std::to_string(run_.server.round)}});
    write_manifest("finished");
    folder_.add_event("finished", {{"version", run_.server.version}});
    const std::string accuracy = last_test_ ? fmt::format("test accuracy {:.4f}, ", last_test_->test_accuracy) : "";
    console_.say(fmt::format("\n{}{} server steps in {:.1f} s\nmodel_sha256 {}\nresults in {}", accuracy, run_.server.version,
                             seconds_between(start_ns_, now_ns()), model_sha256(run_.layout, model), folder_.path().string()));
}

void Reporter::failed(const clients::ClientFailure& failure) {
    folder_.add_event("failure", {{"kind", to_string(failure.kind)},
                                  {"worker", failure.worker},
                                  {"client", failure.client_id},
                                  {"round", failure.round},
                                  {"message", failure.message}});
    stopped("failed: " + failure.describe(), "");
}

void Reporter::stopped(const std::string& exit_status, const std::string& message) {
    write_manifest(exit_status);
    folder_.add_event("stopped", {{"exit_status", exit_status}});
    if (!message.empty()) console_.say(message);
}

nlohmann::json Reporter::final_hash() const {
    try {
        return model_sha256(run_.layout, run_.global_model());
    } catch (const std::exception&) {
        return nullptr;  // a device that has failed does not give its model back; the run's own error is what counts
    }
}

void Reporter::write_manifest(const std::string& exit_status) {
    const clients::LibtorchInfo torch = clients::libtorch_info();
    const Machine machine = this_machine();
    const bool over = exit_status != "running";
    nlohmann::ordered_json manifest;
    manifest["schema"] = kResultSchema;
    manifest["name"] = run_.config.name;
    manifest["exit_status"] = exit_status;
    manifest["started"] = started_;
    manifest["finished"] = over ? nlohmann::json(utc_time()) : nlohmann::json(nullptr);
    manifest["fedhive"] = kVersion;
    manifest["commit"] = kCommit;
    manifest["libtorch"] = torch.version;
    manifest["cpu_capability"] = torch.cpu_capability;
    manifest["cpu"] = machine.cpu;
    manifest["cores"] = machine.cores;
    manifest["device"] = run_.space == aggregation::MemorySpace::Host ? "cpu" : "cuda";
    manifest["cuda"] = aggregation::cuda_versions().describe();
    manifest["workers"] = run_.num_workers;
    manifest["threads"] = run_.config.threads;
    manifest["seed"] = run_.config.seed;
    manifest["strategy"] = run_.config.strategy.name;
    manifest["mode"] = run_.config.mode.name;
    manifest["num_clients"] = run_.dataset.map().num_clients;
    manifest["num_parameters"] = run_.layout.num_values();
    manifest["layout_fingerprint"] = fmt::format("{:016x}", run_.layout.fingerprint());
    manifest["data_fingerprint"] = fmt::format("{:016x}", run_.data_fingerprint);
    manifest["version"] = run_.server.version;
    manifest["model_sha256"] = over ? final_hash() : nlohmann::json(nullptr);
    if (last_test_) {
        manifest["test_loss"] = last_test_->test_loss;
        manifest["test_accuracy"] = last_test_->test_accuracy;
    }
    nlohmann::ordered_json& wall = manifest["wall_s"];
    wall["total"] = seconds_between(start_ns_, now_ns());
    for (std::size_t i = 0; i < kNumPhases; ++i) wall[kPhaseNames[i]] = phase_seconds_[i];
    folder_.write_manifest(manifest);
}

}  // namespace fedhive::sim
