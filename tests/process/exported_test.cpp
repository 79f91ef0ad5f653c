// model.file in the real program: networks exported by PyTorch, from the config to the results.
#include "tests/process/csv_rows.h"
#include "tests/process/finished_run.h"
#include "tests/support/exported_file.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

const std::string kData =
    "data={format: synthetic, shape: [1, 12, 12], num_classes: 4, num_train: 150, num_test: 40, partition: {clients: 4}}";

Options exported(const std::string& name) {
    return {kData, "training.cohort=4", "training.batch_size=16",
            fmt::format("model={{file: {}}}", golden_file(name + ".pt2").string())};
}

/// The program's error for a refused config.
std::string refusal_of(const Options& options) {
    FedhiveRun run(small_config(), set(options));
    CHECK_MESSAGE(run.end() == "exited with status 2", run.output());
    CHECK_FALSE(std::filesystem::exists(run.out()));
    return run.output();
}

void check_says(const std::string& output, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) CHECK_MESSAGE(output.find(text) != std::string::npos, text << "\n" << output);
}

}  // namespace

TEST_SUITE("ExportedRun") {
    TEST_CASE("SameBitsForAnyNumberOfWorkers") {
        const std::string one = sha_with(exported("transformer") + Options{"workers=1"});
        for (const char* workers : {"workers=0", "workers=3"})
            CHECK(sha_with(exported("transformer") + Options{workers}) == one);
        // Dropout and running statistics, a strategy with state, steps in bfloat16.
        const Options moving =
            exported("bn_cnn") + Options{"strategy={name: fedadam, server_lr: 0.1}", "training.precision=bf16"};
        CHECK(sha_with(moving + Options{"workers=0"}) == sha_with(moving + Options{"workers=3"}));
    }

    TEST_CASE("RecurrentLayersAndAttentionBehindProductsAreTrainedInBf16OnEveryProcessor") {
        const Options bf16 = exported("mixed") + Options{"rounds=1", "training.precision=bf16"};
        const std::string f32 = sha_with(exported("mixed") + Options{"rounds=1"}), one = sha_with(bf16 + Options{"workers=1"});
        CHECK(one != f32);
        CHECK(sha_with(bf16 + Options{"workers=3"}) == one);
        // As on a processor without AVX-512, where oneDNN has no LSTM in bf16.
        for (const std::string name : {"mixed", "lstm"})
            CHECK(sha_with(exported(name) + Options{"rounds=1", "training.precision=bf16"},
                           {{"ATEN_CPU_CAPABILITY", "avx2"}, {"ONEDNN_MAX_CPU_ISA", "AVX2"}})
                      .size() == 64);
    }

    TEST_CASE("GraphIsTrainedInEveryModeThatDoesNotCutIt") {
        for (const std::string mode : {"{name: async}", "{name: gradient_averaging}", "{name: hogwild}"})
            CHECK(sha_with(exported("residual") + Options{"workers=4", "rounds=1", "mode=" + mode}).size() == 64);
    }

    TEST_CASE("KilledWorkerIsReplacedAndTheBitsStay") {
        const std::string whole = sha_with(exported("bn_cnn"));
        CHECK(sha_with(exported("bn_cnn") +
                       Options{"failures={policy: retry}", "faults=[{kind: kill, round: 2, client: 1}]"}) == whole);
    }

    TEST_CASE("ModelFileHasTheModulesStateDictAndIsAFirstModelToo") {
        FedhiveRun run(small_config(), set(exported("kept")));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        const std::string model = read_text(run.out() / "model.safetensors");
        for (const char* name : {"a.weight", "head.bias", "unused", "frozen", "scale", "seen", "steps"})
            CHECK_MESSAGE(model.find(fmt::format("\"{}\":", name)) != std::string::npos, name);
        CHECK(model.find("\"shift\":") == std::string::npos);  // not persistent
        const Options again{fmt::format("model.init={}", (run.out() / "model.safetensors").string())};
        CHECK(sha_with(exported("kept") + again) != run.manifest()["model_sha256"]);
        FedhiveRun tied(small_config(), set(exported("tied")));
        REQUIRE(tied.end() == "exited with status 0");
        CHECK(read_text(tied.out() / "model.safetensors").find("\"b.weight\":") != std::string::npos);
    }

    TEST_CASE("FileOfKnownLayersIsTrainedByTheDirectEngineAndIsTheModuleStill") {
        for (const std::string name : {"cnn", "group_resnet"}) {
            CAPTURE(name);
            const Options options = exported(name) + Options{"training.engine=direct"};
            Finished direct(set(options)), graph(set(exported(name) + Options{"model.graph=keep"}));
            CHECK(direct.manifest()["model_form"] == "layers");
            CHECK(direct.manifest()["engine"] == "direct");
            CHECK(graph.manifest()["model_form"] == "graph");
            CHECK(graph.manifest()["engine"] == "libtorch");
            const auto ours = read_csv(direct.out() / "rounds.csv"), theirs = read_csv(graph.out() / "rounds.csv");
            REQUIRE(ours.size() == 3);
            REQUIRE(theirs.size() == 3);
            for (const char* column : {"train_loss", "test_loss"})
                for (std::size_t row = 0; row < 3; ++row)
                    CHECK(std::abs(std::stod(ours[row].at(column)) - std::stod(theirs[row].at(column))) < 1e-5);
            for (const char* workers : {"workers=0", "workers=3"})
                CHECK(sha_with(options + Options{workers}) == direct.manifest()["model_sha256"]);
            // Parameter names are equal, so each form continues a model trained by the other.
            const Options again{fmt::format("model.init={}", (direct.out() / "model.safetensors").string()),
                                "model.graph=keep"};
            CHECK(sha_with(exported(name) + again).size() == 64);
        }
    }

    TEST_CASE("FileOfKnownLayersGoesWhereListsOfLayersGo") {
        CHECK(sha_with(exported("cnn") + Options{"mode={name: split, cut: conv2}", "workers=2"}).size() == 64);
        CHECK(sha_with(exported("group_resnet") + Options{"mode={name: split, cut: one}", "workers=2"}).size() == 64);
        CHECK(sha_with(exported("cnn") + Options{"training.clients_at_once=4"}).size() == 64);
        CHECK(sha_with(exported("cnn") + Options{"model.frozen=[\"conv*\"]"}).size() == 64);
        check_says(refusal_of(exported("group_resnet") + Options{"mode={name: split, cut: one.conv1}"}),
                   {"allowed: stem, norm, one, two"});
    }

    TEST_CASE("ResumedRunKeepsItsFileByItsHashWhereverItLies") {
        const TemporaryFolder folder;
        const auto mine = folder.path() / "net.pt2", moved = folder.path() / "moved.pt2";
        std::filesystem::copy_file(golden_file("cnn.pt2"), mine);
        const Options options = exported("cnn") + Options{"model.file=" + mine.string()};
        Finished run(set(options));
        check_says(read_text(run.out() / "config.yaml"), {"file_sha256: "});
        std::filesystem::rename(mine, moved);
        std::filesystem::copy_file(golden_file("residual.pt2"), mine);
        run.refuses(set({"rounds=4"}), {"net.pt2: its SHA-256 "});
        run.refuses(set({"model={name: lr}"}), {"model.file_sha256: ", "model.name: (not given) -> lr"});
        REQUIRE_MESSAGE(run.resume(set({"rounds=4", "model.file=" + moved.string()})) == "exited with status 0", run.output());
        CHECK(run.manifest()["model_sha256"] == sha_with(exported("cnn") + Options{"rounds=4"}));
    }

    TEST_CASE("WhatDoesNotGoTogetherIsRefusedByBothNames") {
        const std::string why = "model.file is a graph: aten.silu.default ('silu') is not a layer; ";
        check_says(refusal_of(exported("residual") + Options{"mode={name: split, cut: stem}"}),
                   {"mode.name: mode 'split'", why});
        check_says(refusal_of(exported("residual") + Options{"training.clients_at_once=4"}),
                   {"training.clients_at_once: ", why + "allowed: 1"});
        check_says(refusal_of(exported("residual") + Options{"training.engine=direct"}),
                   {"training.engine: ", why + "allowed here: auto, libtorch"});
        check_says(refusal_of(exported("cnn") + Options{"training.engine=direct", "model.graph=keep"}),
                   {"training.engine: ", "model.file is a graph: model.graph is keep"});
        check_says(refusal_of(exported("cnn") + Options{"model.graph=other"}), {"model.graph: ", "auto, keep"});
        check_says(refusal_of(exported("bn_cnn") + Options{"mode={name: gradient_averaging}", "workers=4"}),
                   {"mode.name: model.file has buffers ", "cannot average"});
        check_says(refusal_of(exported("cnn") + Options{"model.name=lr"}), {"'name' and 'file' are both given"});
    }

    TEST_CASE("NormsInEvaluationModeAreTrainedWithWhereAKeySaysSo") {
        check_says(refusal_of(exported("eval_norms")),
                   {"model.file: ", "was exported in evaluation mode", "set model.frozen_norms: true"});
        check_says(refusal_of(exported("bn_cnn") + Options{"model.frozen_norms=true"}), {"but model.frozen_norms is true"});
        const Options frozen = exported("eval_norms") + Options{"model.frozen_norms=true"};
        FedhiveRun run(small_config(), set(frozen));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        CHECK(run.output().find("as a graph: aten.batch_norm.default ('batch_norm')") != std::string::npos);
        CHECK(sha_with(frozen + Options{"workers=0"}) == run.manifest()["model_sha256"]);
        // Frozen norms move no statistics, so modes that do not average buffers are allowed.
        CHECK(sha_with(frozen + Options{"mode={name: gradient_averaging}", "workers=4", "rounds=1"}).size() == 64);
    }

    TEST_CASE("FileThatDoesNotFitTheDataIsNamedWithWhatMendsIt") {
        const std::string file = golden_file("cnn.pt2").string();
        check_says(refusal_of(exported("cnn") + Options{"data.shape=[1, 10, 12]"}),
                   {file + ": takes examples of [1, 12, 12], but the data's are [1, 10, 12]", "x = torch.zeros(2, 1, 10, 12)"});
        check_says(refusal_of(exported("cnn") + Options{"data.num_classes=5"}),
                   {file + ": gives [2, 4]", "nn.Linear(width, 5)"});
        check_says(refusal_of(exported("cnn") + Options{"model.file=/nowhere/net.pt2"}), {"model.file: /nowhere/net.pt2: "});
        check_says(refusal_of(exported("cnn") + Options{"model.file=" + golden_file("cnn.safetensors").string()}),
                   {"torch.export.save; fix: torch.export.save("});
    }

    TEST_CASE("ShowModelListsTensorsAndOperations") {
        FedhiveRun run(small_config());
        REQUIRE(run.end() == "exited with status 0");
        std::filesystem::remove(run.folder() / "output");
        std::vector<std::string> arguments{"show-model", (run.folder() / "test.yaml").string()};
        for (const std::string& option : set(exported("kept"))) arguments.push_back(option);
        run.start(arguments);
        CHECK(run.end() == "exited with status 0");
        check_says(run.output(), {"model.file, written by PyTorch 2.11.0", "runs as a graph: aten.mean.dim ('mean')",
                                  "a.weight", "moved buffer", "counter, stays", "aten.linear.default"});
    }
}
