// Runs of modes where workers share more than one model per round, and their reference: the same training in
// this process, step by step.
#pragma once

#include "aggregation/math/vector_ops.h"
#include "clients/trainers/engine.h"
#include "sim/config/load_config.h"
#include "sim/plan/experiment.h"
#include "sim/state/model_file.h"
#include "tests/process/same_run.h"

namespace fedhive::testing {

/// Four clients of 151, 151, 150 and 150 examples: with a smaller last batch, and two replicas that see one example twice.
inline std::string mode_config() {
    return R"(
name: modes
rounds: 3
device: cpu
workers: 2
data: {format: glyphs, num_train: 602, num_test: 100, partition: {scheme: iid, clients: 4}}
model: {name: mlp, hidden: 32}
training: {local_epochs: 1, batch_size: 16, optimizer: {name: sgd, lr: 0.05, momentum: 0.5}}
)";
}

/// A run of mode_config() with more assignments, to its end.
struct ModeRun : FedhiveRun {
    explicit ModeRun(const std::vector<std::string>& assignments) : FedhiveRun(mode_config(), set(assignments)) {
        const std::string ended = end();
        REQUIRE_MESSAGE(ended == "exited with status 0", output());
    }
    std::string hash() const { return manifest()["model_sha256"]; }
    std::vector<float> model(const aggregation::Layout& layout) const {
        return sim::read_model(out() / "model.safetensors", layout);
    }

    /// A column of a table.
    std::vector<std::string> column(const char* table, const std::string& name) const {
        std::vector<std::string> values;
        for (const auto& row : read_csv(out() / table)) values.push_back(row.at(name));
        return values;
    }
    std::vector<double> numbers(const char* table, const std::string& name) const {
        std::vector<double> values;
        for (const std::string& cell : column(table, name)) values.push_back(std::stod(cell));
        return values;
    }

    /// Number of lines in events.jsonl that contain `text`.
    std::size_t events_with(const std::string& text) const {
        const auto lines = read_lines(out() / "events.jsonl");
        return static_cast<std::size_t>(std::count_if(
            lines.begin(), lines.end(), [&](const std::string& line) { return line.find(text) != std::string::npos; }));
    }
};

/// The same, but killed after `rounds` recorded rounds, and resumed.
struct KilledRun : FedhiveRun {
    KilledRun(const std::vector<std::string>& assignments, std::size_t rounds) : FedhiveRun(mode_config(), set(assignments)) {
        REQUIRE(eventually(30.0, [&] { return this->rounds() >= rounds; }));
        kill(pid(), SIGKILL);
        CHECK(end() == "killed by SIGKILL (Killed)");
        start({"run", "--resume", out().string()});
        const std::string ended = end();
        REQUIRE_MESSAGE(ended == "exited with status 0", output());
    }
};

inline std::string mode_hash(const std::vector<std::string>& assignments) { return ModeRun(assignments).hash(); }

using Batches = std::vector<std::vector<std::uint32_t>>;

inline Batches batches_of(std::span<const std::uint32_t> order, std::size_t size) {
    Batches batches;
    for (std::size_t first = 0; first < order.size(); first += size) {
        const auto batch = order.subspan(first, std::min(size, order.size() - first));
        batches.emplace_back(batch.begin(), batch.end());
    }
    return batches;
}

/// The experiment of a config with its first model, and a step to train it in this process.
struct Rehearsal {
    explicit Rehearsal(const std::vector<std::string>& assignments)
        : loaded(load(assignments)), run(sim::Experiment::to_inspect(loaded)) {
        trainer = clients::make_trainer(run.worker_plan, run.data.dataset);
        const auto first = run.server.global_model().host();
        model.assign(first.begin(), first.end());
    }
    static sim::LoadedConfig load(const std::vector<std::string>& assignments) {
        const TemporaryFolder folder;
        std::ofstream(folder.path() / "test.yaml") << mode_config();
        return sim::load_config(folder.path() / "test.yaml", assignments);
    }

    clients::TrainingStep& step() const { return trainer->step(); }
    clients::TrainingStep& begin() const {
        clients::ClientStart start;
        start.global = model;
        step().begin(start);
        return step();
    }
    std::vector<float> parameters() const {
        const auto floats = step().parameters().host();
        return {floats.begin(), floats.end()};
    }

    /// A client's batches in a round, epoch after epoch.
    Batches batches(std::uint32_t round, std::uint32_t client) const {
        const auto& plan = run.worker_plan.training;
        const auto shard = run.data.dataset.shard(client);
        std::vector<std::uint32_t> order(shard.begin(), shard.end());
        Stream shuffling(plan.seed, Purpose::Shuffle, round, client);
        Batches all;
        for (std::uint64_t epoch = 0; epoch < plan.local_epochs; ++epoch) {
            shuffle(std::span(order), shuffling);
            for (auto& batch : batches_of(order, plan.batch_size)) all.push_back(batch);
        }
        return all;
    }

    /// Trains a client's round, starting from the model and replacing it.
    void train(std::uint32_t round, std::uint32_t client) {
        begin();
        for (const auto& batch : batches(round, client)) step().step(batch);
        model = parameters();
    }

    sim::LoadedConfig loaded;
    sim::Experiment run;
    std::unique_ptr<clients::Trainer> trainer;
    std::vector<float> model;
};

}  // namespace fedhive::testing
