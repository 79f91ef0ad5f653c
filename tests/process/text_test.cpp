// Text by speakers, an embedding and LSTM layers in the real program.
#include "tests/clients/data/npz_fixture.h"
#include "tests/process/finished_run.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

/// Four speakers with two sentences each, predictable after a few characters; a fifth has too little text.
class Play {
public:
    Play() {
        std::string text;
        for (int turn = 0; turn < 6; ++turn)
            for (int speaker = 0; speaker < 4; ++speaker)
                text += fmt::format("SPEAKER {}:\n{}\n{}\n\n", speaker, speaker % 2 == 0 ? "abcdefghij" : "jihgfedcba",
                                    turn % 2 == 0 ? "acegi bdfhj" : "bdfhj acegi");
        clients::write_content(file(), text + "GHOST:\nah\n");
    }
    std::string file() const { return (folder_.path() / "play.txt").string(); }
    Options config(const std::string& model = "model={name: char_lstm, units: 12, lstm_layers: 2}") const {
        return {
            fmt::format("data={{format: text, train: {}, sequence: 6, partition: {{scheme: natural, clients: 4}}}}", file()),
            "training={cohort: 4, batch_size: 8, optimizer: {name: sgd, lr: 2}}", model};
    }

private:
    TemporaryFolder folder_;
};

}  // namespace

TEST_SUITE("TextRun") {
    TEST_CASE("NextCharacterIsLearntWithTheSameBitsForAnyNumberOfWorkers") {
        const Play play;
        FedhiveRun run(small_config(), set(play.config() + Options{"rounds=12"}));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        CHECK(run.output().find("input 6 tokens of 12\n") != std::string::npos);
        CHECK(run.output().find("examples of tokens · 12 classes · left out 1 owner without a training example\n") !=
              std::string::npos);
        CHECK(std::stod(read_csv(run.out() / "rounds.csv").back().at("test_accuracy")) > 0.5);  // chance: 0.1
        CHECK(run.manifest()["engine"] == "direct");
        const std::string two = run.manifest()["model_sha256"];
        for (const char* workers : {"workers=0", "workers=3"})
            CHECK(sha_with(play.config() + Options{"rounds=12", workers}) == two);
    }

    TEST_CASE("EmbeddingBeforeLinearLayersIsTheDirectEngines") {
        const Play play;
        const Options config = play.config("model={layers: [{embedding: 4}, flatten, {linear: 12}, relu, linear]}") +
                               Options{"rounds=6", "training.optimizer.lr=0.5"};
        FedhiveRun run(small_config(), set(config));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        CHECK(run.manifest()["engine"] == "direct");
        CHECK(std::stod(read_csv(run.out() / "rounds.csv").back().at("test_accuracy")) > 0.5);  // chance: 0.1
        for (const char* workers : {"workers=0", "workers=3"})
            CHECK(sha_with(config + Options{workers}) == run.manifest()["model_sha256"]);
        CHECK(sha_with(config + Options{"training.engine=libtorch"}) != run.manifest()["model_sha256"]);
    }

    TEST_CASE("SequencesAreTrainedInEveryModeByManyClientsAtOnceAndInBf16") {
        const Play play;
        const Options config =
            play.config(
                "model={layers: [{embedding: 3}, {lstm: {hidden: 4, all_positions: true}}, dropout, {lstm: 4}, linear]}") +
            Options{"data.partition={clients: 4}", "rounds=1"};
        for (const std::string mode : {"{name: split, cut: \"1\"}", "{name: async}", "{name: gradient_averaging}",
                                       "{name: parameter_server}", "{name: hogwild}"})
            CHECK(sha_with(config + Options{"workers=4", "mode=" + mode}).size() == 64);
        CHECK(sha_with(config + Options{"training.clients_at_once=4"}).size() == 64);
        CHECK(sha_with(config + Options{"training.precision=bf16"}).size() == 64);
        // As on a processor without AVX-512, where oneDNN has no LSTM in bf16.
        CHECK(sha_with(config + Options{"training.precision=bf16"},
                       {{"ATEN_CPU_CAPABILITY", "avx2"}, {"ONEDNN_MAX_CPU_ISA", "AVX2"}})
                  .size() == 64);
    }

    TEST_CASE("TransformerLearnsTheNextCharacterHoweverManyWorkersAndClientsAtOnceTrainIt") {
        const Play play;
        const Options config = play.config("model={name: char_transformer, width: 12, heads: 3}") +
                               Options{"task=next_token", "rounds=8", "training.optimizer.lr=0.2"};
        for (const auto& [targets, engine] :
             std::map<std::string, std::string>{{"data.targets=last", "direct"}, {"data.targets=every", "libtorch"}}) {
            CAPTURE(targets);
            FedhiveRun run(small_config(), set(config + Options{targets}));
            REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
            CHECK(std::stod(read_csv(run.out() / "rounds.csv").back().at("test_accuracy")) > 0.5);  // chance: 0.1
            CHECK(run.manifest()["engine"] == engine);
            CHECK(sha_with(config + Options{targets, "workers=0"}) == run.manifest()["model_sha256"]);
        }
        for (const std::string mode : {"{name: split, cut: attend0}", "{name: async}"})
            CHECK(sha_with(config + Options{"data.partition={clients: 4}", "rounds=1", "workers=4", "mode=" + mode}).size() ==
                  64);
        FedhiveRun together(small_config(), set(config + Options{"training.clients_at_once=4"}));
        REQUIRE_MESSAGE(together.end() == "exited with status 0", together.output());
        CHECK(std::stod(read_csv(together.out() / "rounds.csv").back().at("test_accuracy")) > 0.5);
        FedhiveRun direct(small_config(), set(config + Options{"training.engine=direct", "data.targets=every"}));
        CHECK(direct.end() == "exited with status 2");
        CHECK_MESSAGE(direct.output().find("the direct engine supports one class per example, or numbers") != std::string::npos,
                      direct.output());
    }

    TEST_CASE("NetworksOfTokensHaveTheSameBitsFromEveryKernelAfterAKillAndAfterAResumeAndTrainAsLibtorchs") {
        const Play play;
        for (const std::string model :
             {"model={name: char_transformer, width: 12, heads: 3}", "model={name: char_lstm, units: 12, lstm_layers: 2}"}) {
            CAPTURE(model);
            const Options config = play.config(model) + Options{"training.optimizer.lr=0.2", "training.engine=direct"};
            Finished run(set(config)), libtorch(set(config + Options{"training.engine=libtorch"}));
            const std::string whole = run.manifest()["model_sha256"];
            CHECK(sha_with(config + Options{"workers=3"}) == whole);
            CHECK(sha_with(config, {{"FEDHIVE_KERNELS", "plain"}}) == whole);
            CHECK(sha_with(config + Options{"failures={policy: retry}", "faults=[{kind: kill, round: 2, client: 1}]"}) ==
                  whole);
            const auto here = read_csv(run.out() / "rounds.csv"), there = read_csv(libtorch.out() / "rounds.csv");
            REQUIRE(here.size() == 3);
            REQUIRE(there.size() == 3);
            for (const char* column : {"train_loss", "test_loss"})
                for (std::size_t row = 0; row < 3; ++row)
                    CHECK(std::abs(std::stod(here[row].at(column)) - std::stod(there[row].at(column))) < 1e-5);
            REQUIRE_MESSAGE(run.resume(set({"rounds=4"})) == "exited with status 0", run.output());
            CHECK(run.manifest()["model_sha256"] == sha_with(config + Options{"rounds=4"}));
        }
    }

    TEST_CASE("WhatDoesNotGoWithTokensIsRefusedByName") {
        const Play play;
        const auto refused = [&](const Options& more, const std::string& text) {
            FedhiveRun run(small_config(), set(play.config() + more));
            CHECK(run.end() == "exited with status 2");
            CHECK_MESSAGE(run.output().find(text) != std::string::npos, run.output());
            CHECK_FALSE(std::filesystem::exists(run.out()));
        };
        refused({"data.normalize={mean: [0.5], std: [1]}"}, "data.normalize:");
        refused({"training.engine=direct", "task=next_token", "data.targets=every"}, "training.engine:");
        refused({"model={name: mlp}"}, "model.name:");
        refused({"model={layers: [flatten, linear]}"}, "model.layers[0]:");
        refused({"data.partition.clients=5"}, "data.partition: clients is 5, but the data have 4 owners; write clients: 4");
        refused({"data.sequence=600"}, "data.train:");
    }

    TEST_CASE("CharacterThatOnlyTestsShowIsRefusedOrCounted") {
        const TemporaryFolder folder;
        const std::string file = (folder.path() / "talk.txt").string();
        clients::write_content(
            file, "A:\n" + std::string(40, 'a') + std::string(40, 'b') + "\nzab\n");  // 85 characters, the last 17 for tests
        const Options config{
            fmt::format("data={{format: text, train: {}, sequence: 6, partition: {{scheme: natural, clients: 1}}}}", file),
            "training.cohort=1", "model={name: char_lstm, units: 4}", "rounds=1"};
        FedhiveRun refused(small_config(), set(config));
        CHECK(refused.end() == "exited with status 2");
        CHECK_MESSAGE(refused.output().find("data.train: " + file + ": speaker 'A': character 80 of 85, ") != std::string::npos,
                      refused.output());
        FedhiveRun counted(small_config(), set(config + Options{"data.unseen=class"}));
        REQUIRE_MESSAGE(counted.end() == "exited with status 0", counted.output());
        CHECK_MESSAGE(counted.output().find("input 6 tokens of 3\n") != std::string::npos, counted.output());
    }

    TEST_CASE("EveryPositionsTokenIsToldWithTheSameBitsForAnyNumberOfWorkers") {
        const Play play;
        const Options config = play.config() + Options{"task=next_token", "data.targets=every", "rounds=12"};
        FedhiveRun run(small_config(), set(config));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        CHECK(run.output().find("12 classes at each position") != std::string::npos);
        const auto last = read_csv(run.out() / "rounds.csv").back();
        CHECK(read_lines(run.out() / "rounds.csv").front().find(",test_loss,test_accuracy,test_perplexity,bytes_down,") !=
              std::string::npos);
        CHECK(std::stod(last.at("test_perplexity")) ==
              doctest::Approx(std::exp(std::stod(last.at("test_loss")))).epsilon(1e-12));
        CHECK(std::stod(last.at("test_perplexity")) < 6.0);  // it begins at 12
        CHECK(std::stod(last.at("test_accuracy")) > 0.4);
        CHECK(std::stod(last.at("test_top5_accuracy")) > std::stod(last.at("test_accuracy")));
        const std::string two = run.manifest()["model_sha256"];
        for (const char* workers : {"workers=0", "workers=3"}) CHECK(sha_with(config + Options{workers}) == two);
        CHECK(sha_with(config + Options{"training.clients_at_once=4", "rounds=1"}).size() == 64);
    }

    TEST_CASE("PerplexityIsThereForTheLastCharacterWithTheBitsOfClassification") {
        const Play play;
        const Options config = play.config() + Options{"rounds=2"};
        FedhiveRun run(small_config(), set(config + Options{"task=next_token"}));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        const auto last = read_csv(run.out() / "rounds.csv").back();
        CHECK(std::stod(last.at("test_perplexity")) ==
              doctest::Approx(std::exp(std::stod(last.at("test_loss")))).epsilon(1e-12));
        CHECK(run.manifest()["model_sha256"] == sha_with(config));
    }

    TEST_CASE("StopsAtAPerplexityAndASweepSaysWhenItWasReached") {
        const Play play;
        const Options config = play.config() + Options{"task=next_token", "data.targets=every", "rounds=12"};
        FedhiveRun run(small_config(), set(config + Options{"stop={test_perplexity: 8, test_accuracy: 1}"}));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        const auto rounds = read_csv(run.out() / "rounds.csv");
        REQUIRE(rounds.size() > 1);
        CHECK(rounds.size() < 12);
        CHECK(std::stod(rounds.back().at("test_perplexity")) <= 8.0);
        CHECK(std::stod(rounds[rounds.size() - 2].at("test_perplexity")) > 8.0);
        FedhiveRun sweep;
        std::ofstream(sweep.folder() / "sweep.yaml") << fmt::format(
            "base: {}\nset: {{stop.test_perplexity: null, stop.test_accuracy: null}}\n"
            "target_perplexity: 8\ngrid: {{training.batch_size: [8]}}\n",
            (run.out() / "config.yaml").string());
        sweep.start({"sweep", (sweep.folder() / "sweep.yaml").string(), "--out", sweep.out().string()});
        REQUIRE_MESSAGE(sweep.end() == "exited with status 0", sweep.output());
        const auto row = read_csv(sweep.out() / "summary.csv").front();
        CHECK(row.at("rounds_done") == "12");
        CHECK(row.at("rounds_to_target") == rounds.back().at("round"));
        const std::string summary = read_text(sweep.out() / "summary.md");
        CHECK_MESSAGE(summary.find("| rounds to perplexity 8 |") != std::string::npos, summary);
    }

    TEST_CASE("WhatDoesNotGoWithATokenAtEveryPositionIsRefusedByName") {
        const Play play;
        const auto refused = [&](const Options& more, const std::string& text) {
            FedhiveRun run(small_config(), set(play.config() + Options{"data.targets=every"} + more));
            CHECK(run.end() == "exited with status 2");
            CHECK_MESSAGE(run.output().find(text) != std::string::npos, run.output());
        };
        refused({}, "task:");
        refused({"task=regression"}, "task:");
        refused({"task=next_token", "model={layers: [{embedding: 3}, {lstm: 4}, linear]}"},
                "is the last layer and gives 12, but the data ");
        refused({"task=next_token", "data.partition={scheme: dirichlet, clients: 4}"}, "data.partition.scheme:");
        refused({"task=next_token", "training.engine=direct"}, "training.engine:");
        refused({"task=next_token", "mode={name: split, cut: embed}"}, "mode.name: in mode 'split'");
    }

    TEST_CASE("ShowModelSaysWhatTokensBecome") {
        const Play play;
        FedhiveRun run(small_config());
        REQUIRE(run.end() == "exited with status 0");
        std::filesystem::remove(run.folder() / "output");
        run.start(Options{"show-model", (run.folder() / "test.yaml").string()} + set(play.config()));
        CHECK(run.end() == "exited with status 0");
        for (const char* line :
             {"   input                                      6 tokens of 12\n", "0  embedding dim 8, tokens 12  embed"})
            CHECK_MESSAGE(run.output().find(line) != std::string::npos, run.output());
    }
}
