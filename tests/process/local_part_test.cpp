// model.local in the real program: each client keeps its local part, with any number of workers and after
// failures; the rest is averaged.
#include "sim/state/checkpoint.h"
#include "tests/process/finished_run.h"
#include "tests/process/kept_by_clients.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

const Options kJudgedOnClients{"data.partition.holdout=0.25", "evaluation.clients={every: 1}"};
const Options kLocalHead{"model={name: mlp, hidden: 32, local: [\"fc3.*\"]}"};
constexpr std::size_t kWholeMlp = 16 * 32 + 32 + 32 * 32 + 32 + 32 * 5 + 5, kOwnPart = 32 * 5 + 5;

/// The last layer is local.
Options with_heads(const Options& more = {}) { return kLocalHead + kJudgedOnClients + Options{"training.cohort=5"} + more; }

std::vector<float> tensor_of_file(const std::filesystem::path& file, const std::string& name) {
    const sim::OpenState state(file);
    const sim::TensorPlace* place = state.find(name);
    REQUIRE_MESSAGE(place != nullptr, name);
    return floats_of(state, *place);
}

/// Client states after that round, by tensor name.
std::map<std::string, std::vector<float>> kept_after(const FedhiveRun& run, std::int64_t round) {
    const sim::CheckpointFile file = sim::read_checkpoint(sim::checkpoint_path(run.out(), round));
    std::map<std::string, std::vector<float>> kept;
    for (const sim::TensorPlace& place : file.state.tensors())
        if (place.name.starts_with("client.")) kept[place.name] = floats_of(file.state, place);
    return kept;
}

void finish_run(FedhiveRun& run) { REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output()); }

/// Model hash, clients.csv and the tables of evaluations on clients.
std::string all_tables_of(const FedhiveRun& run) {
    return run.manifest()["model_sha256"].get<std::string>() + "\n" + comparable(run.out() / "clients.csv") +
           read_text(run.out() / "fairness.csv") + read_text(run.out() / "client_accuracy.csv");
}

std::string all_tables_with(const Options& more) {
    FedhiveRun run(small_config(), set(with_heads(more)));
    finish_run(run);
    return all_tables_of(run);
}

void refused_with_heads(const Options& options, const std::string& text) {
    FedhiveRun run(small_config(), set(with_heads(options)));
    CHECK(run.end() == "exited with status 2");
    CHECK_MESSAGE(run.output().find(text) != std::string::npos, run.output());
    CHECK_FALSE(std::filesystem::exists(run.out()));
}

}  // namespace

TEST_SUITE("LocalPartRun") {
    TEST_CASE("WhatIsTheClientsOwnNeitherTravelsNorIsAveraged") {
        const Options chain{"upload=[{name: clip, norm: 1.0}, {name: gaussian_noise, multiplier: 0.1}]",
                            "strategy={name: fedadam, weighting: uniform}"};
        for (const Options& more : {Options{}, chain}) {
            FedhiveRun begin(small_config(), set(with_heads(more + Options{"rounds=1", "checkpoint.every=1"})));
            finish_run(begin);
            const auto first = begin.out() / "model.safetensors";
            Finished run(set(with_heads(more + Options{"model.init=" + first.string()})));
            const auto last = run.out() / "model.safetensors";
            for (const char* own : {"fc3.weight", "fc3.bias"}) CHECK(tensor_of_file(last, own) == tensor_of_file(first, own));
            for (const char* shared : {"fc1.weight", "fc2.bias"})
                CHECK(tensor_of_file(last, shared) != tensor_of_file(first, shared));
            const auto row = read_csv(run.out() / "rounds.csv").back();
            for (const char* bytes : {"bytes_down", "bytes_up"})
                CHECK(std::stoul(row.at(bytes)) == 5 * 4 * (kWholeMlp - kOwnPart));
            for (const char* empty : {"test_loss", "test_accuracy"}) CHECK(row.at(empty).empty());
            CHECK(run.manifest()["num_local"] == kOwnPart);
            CHECK(run.said(fmt::format("{} parameters, {} of them stay on each client", kWholeMlp, kOwnPart)));
            const auto kept = kept_after(run, 3);
            CHECK(kept.size() >= 5);
            for (const auto& [client, values] : kept) {
                CAPTURE(client);
                CHECK(values.size() == kOwnPart);
                CHECK(std::vector<float>(values.begin(), values.end() - 5) != tensor_of_file(last, "fc3.weight"));
            }
        }
    }

    TEST_CASE("AClientAloneIsTrainedAsOneWhoseWholeModelTravels") {
        const std::string image =
            "data={format: synthetic, shape: [1, 8, 8], num_classes: 4, num_train: 120, num_test: 20, "
            "partition: {clients: 1, holdout: 0.25}}";
        const std::string layers = "layers: [{conv2d: {out: 4, kernel: 3}}, batch_norm, relu, flatten, linear]";
        // The direct engine, LibTorch, and a local part with buffers.
        const std::vector<std::array<std::string, 3>> models{{"name: cnn_m", "fc*", "training.engine=direct"},
                                                             {"name: cnn_m", "conv1.*", "training.engine=libtorch"},
                                                             {layers, "1.*", "training.engine=auto"},
                                                             {layers, "1.running_*", "training.engine=auto"}};
        for (const auto& [model, own, engine] : models) {
            CAPTURE(model);
            CAPTURE(own);
            const auto losses = [&](const std::string& local) {
                FedhiveRun run(small_config(),
                               set({image, "training.cohort=1", engine, "evaluation.clients={every: 1, personalized: true}",
                                    "rounds=4", "workers=1", fmt::format("model={{{}{}}}", model, local)}));
                finish_run(run);
                std::vector<double> all;
                for (const auto& row : read_csv(run.out() / "fairness.csv")) all.push_back(std::stod(row.at("loss_mean")));
                for (const auto& row : read_csv(run.out() / "rounds.csv")) all.push_back(std::stod(row.at("train_loss")));
                return all;
            };
            const std::vector<double> whole = losses(""), parted = losses(fmt::format(", local: [\"{}\"]", own));
            REQUIRE(whole.size() == 12);
            REQUIRE(parted.size() == 12);
            for (std::size_t i = 0; i < whole.size(); ++i) CHECK(parted[i] == doctest::Approx(whole[i]).epsilon(1e-4));
            CHECK(whole[0] != doctest::Approx(whole[6]).epsilon(1e-3));
        }
    }

    TEST_CASE("SameBitsForAnyNumberOfWorkersAfterKillsAndAResumeAndReplayed") {
        for (const char* engine : {"training.engine=direct", "training.engine=libtorch"}) {
            CAPTURE(engine);
            Finished run(set(with_heads({engine, "workers=3", "evaluation.clients.personalized=true"})));
            const Options more{engine, "evaluation.clients.personalized=true"};
            const std::string of_three = all_tables_of(run);
            for (const char* workers : {"workers=0", "workers=1"})
                CHECK_MESSAGE(all_tables_with(more + Options{workers}) == of_three, workers);
            FedhiveRun killed(small_config(),
                              set(with_heads(more + Options{"faults=[{kind: kill, rate: 0.2}]", "client_state=file",
                                                            "failures={policy: retry, attempts: 9}"})));
            finish_run(killed);
            CHECK(read_text(killed.out() / "client_accuracy.csv") == read_text(run.out() / "client_accuracy.csv"));
            const std::string of_five = all_tables_with(more + Options{"rounds=5"});
            REQUIRE_MESSAGE(run.resume(set({"rounds=5", "workers=1"})) == "exited with status 0", run.output());
            CHECK(all_tables_of(run) == of_five);
            FedhiveRun again;
            again.start({"replay", run.out().string(), "--round", "5", "--client",
                         read_csv(run.out() / "clients.csv").back().at("client_id")});
            CHECK_MESSAGE(again.end() == "exited with status 0", again.output());
            CHECK_MESSAGE(again.output().find(": the same bits as in the run\n") != std::string::npos, again.output());
        }
    }

    TEST_CASE("WhoIsLeftOutOfARoundKeepsWhatItHad") {
        const Options faults{"rounds=4",
                             "checkpoint.every=1",
                             "checkpoint.keep=9",
                             "workers=2",
                             "failures={policy: drop}",
                             "faults=[{kind: nan, round: 3, client: 2}, {kind: kill, round: 3, client: 5, at: update}]",
                             "training={cohort: 13, local_steps: 1, batch_size: 16, optimizer: {name: sgd, lr: 0.05}}"};
        // After a single step, the fault has spoilt the first layer only: the part that travels, or the local part.
        for (const char* own : {"fc3.*", "fc1.*"}) {
            CAPTURE(own);
            const std::string model = fmt::format("model={{name: mlp, hidden: 32, local: [\"{}\"]}}", own);
            FedhiveRun run(small_config(), set(with_heads() + faults + Options{model}));
            finish_run(run);
            const auto before = kept_after(run, 2), after = kept_after(run, 3), later = kept_after(run, 4);
            REQUIRE(before.size() == 13);
            for (const auto& [client, values] : before) {
                const bool left_out = client == "client.2" || client == "client.5";
                CHECK_MESSAGE((after.at(client) == values) == left_out, client);
                CHECK_MESSAGE(later.at(client) != after.at(client), client);
            }
        }
    }

    TEST_CASE("WhatItDoesNotGoWithIsRefused") {
        const auto model = [](const std::string& patterns) {
            return Options{"model={name: mlp, hidden: 32, local: " + patterns + "}"};
        };
        refused_with_heads(model("[\"fc3.*\", fc4.bias]"), "model.local[1]:");
        refused_with_heads(model("[\"*\"]"), "model.local:");
        refused_with_heads({"model={name: mlp, hidden: 32, frozen: [\"fc1.*\"], local: [fc1.bias]}"},
                           "model.local[0]: 'fc1.bias' matches the name of no ");
        refused_with_heads({"mode={name: async}"}, "mode.name:");
        refused_with_heads({"training.clients_per_slot=2"}, "training.clients_per_slot:");
        refused_with_heads({"training.clients_at_once=2"}, "training.clients_at_once:");
        refused_with_heads({"evaluation.clients={every: never}"}, "evaluation.clients.every:");
        refused_with_heads({"stop.test_accuracy=0.9"}, "stop.test_accuracy:");
        FedhiveRun run(small_config(), set(with_heads()));
        finish_run(run);
        run.start({"evaluate", run.out().string()});
        CHECK(run.end() == "exited with status 2");
        CHECK_MESSAGE(run.output().find("model.local: the run has only the clients' own models") != std::string::npos,
                      run.output());
    }
}
