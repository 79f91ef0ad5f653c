// Models as lists of layers in the real program.
#include "tests/process/finished_run.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

/// mnist_cnn without dropout, and a residual network with every norm.
const std::string kCnn =
    "model={layers: [{conv2d: {out: 10, kernel: 5}}, {max_pool: 2}, relu, {conv2d: {out: 20, kernel: 5}}, {max_pool: 2}, relu, "
    "flatten, "
    "{linear: 50}, relu, linear]}";
const std::string kResidual =
    "model={layers: [{conv2d: {out: 4, kernel: 4, stride: 4}}, {group_norm: 2}, {residual: [{conv2d: {out: 4, kernel: 3, "
    "padding: 1}}, "
    "layer_norm, gelu]}, flatten, {dropout: 0.1}, linear]}";

const std::string kStatistics =
    "model={layers: [{conv2d: {out: 4, kernel: 4, stride: 4}}, {residual: [batch_norm, relu]}, flatten, batch_norm, linear]}";

Options images(const std::string& model) {
    return {"data={format: glyphs, num_train: 260, num_test: 50, partition: {clients: 4}}", "training.cohort=4", model};
}

}  // namespace

TEST_SUITE("LayersRun") {
    TEST_CASE("ListOfANamedModelsLayersGivesItsBits") {
        CHECK(sha_with(images(kCnn)) == sha_with(images("model={name: mnist_cnn, dropout: false}")));
        CHECK(sha_with(images("model={layers: [flatten, {linear: 9}, relu, {linear: 9}, relu, linear]}")) ==
              sha_with(images("model={name: mlp, hidden: 9}")));
    }

    TEST_CASE("SameBitsForAnyNumberOfWorkersAndOthersForOtherLayers") {
        const std::string two = sha_with(images(kResidual));
        for (const char* workers : {"workers=0", "workers=3"}) CHECK(sha_with(images(kResidual) + Options{workers}) == two);
        CHECK(sha_with(images(kCnn)) != two);
    }

    TEST_CASE("RunningStatisticsTravelWithTheUpdateWithTheSameBitsForAnyNumberOfWorkers") {
        const Options run = images(kStatistics) + Options{"strategy={name: fedadam, server_lr: 1}"};
        const std::string two = sha_with(run);
        for (const char* workers : {"workers=0", "workers=4"}) CHECK(sha_with(run + Options{workers}) == two);
        CHECK(sha_with(images(kStatistics) + Options{"mode={name: async}", "training.precision=bf16"}).size() == 64);
    }

    TEST_CASE("ListIsTrainedInEveryModeAndByManyClientsAtOnce") {
        for (const std::string mode :
             {"{name: split, cut: \"2\"}", "{name: async}", "{name: gradient_averaging}", "{name: parameter_server}"})
            CHECK(sha_with(images(kResidual) + Options{"workers=4", "mode=" + mode}).size() == 64);
        CHECK(sha_with(images(kResidual) + Options{"training.clients_at_once=4"}).size() == 64);
        CHECK(sha_with(images(kResidual) + Options{"training.precision=bf16"}).size() == 64);
    }

    TEST_CASE("ListThatEndsInFlattenIsTrainedByEitherEngine") {
        const Options head = images("model={layers: [{conv2d: {out: 10, kernel: 5}}, avg_pool, flatten]}");
        for (const char* engine : {"direct", "libtorch"})
            CHECK(sha_with(head + Options{std::string("training.engine=") + engine}).size() == 64);
    }

    TEST_CASE("ResumedRunGoesOnWithItsLayersAndRefusesOthers") {
        Finished run(set(images(kResidual)));
        run.refuses(set({"model.layers=[flatten, linear]"}), {"model.layers: [{conv2d: {out: 4", "-> [flatten, linear]"});
        REQUIRE_MESSAGE(run.resume(set({"rounds=4"})) == "exited with status 0", run.output());
        CHECK(run.manifest()["model_sha256"] == sha_with(images(kResidual) + Options{"rounds=4"}));
    }

    TEST_CASE("LayerThatDoesNotFitTheDataIsNamedWithItsLine") {
        FedhiveRun run(
            "data: {format: glyphs}\nmodel:\n  layers:\n    - relu\n    - residual:\n        - {max_pool: 2}\n    - flatten\n  "
            "  - linear\n");
        CHECK(run.end() == "exited with status 2");
        CHECK_MESSAGE(run.output().find("test.yaml:5: model.layers[1]: layer 1 (residual) cannot add") != std::string::npos,
                      run.output());
        CHECK_FALSE(std::filesystem::exists(run.out()));
    }

    TEST_CASE("ShowModelPrintsLayersShapesAndTotalsWithoutTheData") {
        FedhiveRun run(small_config());
        REQUIRE(run.end() == "exited with status 0");
        const auto shown = [&](const Options& overrides) {
            std::filesystem::remove(run.folder() / "output");
            std::vector<std::string> arguments{"show-model", (run.folder() / "test.yaml").string()};
            for (const std::string& option : set(overrides)) arguments.push_back(option);
            run.start(arguments);
            CHECK(run.end() == "exited with status 0");
            return run.output();
        };
        // More examples than memory holds.
        const std::string cnn = shown({"data={format: glyphs, num_train: 1000000000, partition: {clients: 13}}", kResidual});
        for (const char* line :
             {"model.layers\n", "0    conv2d out 4, kernel 4, stride 4   0                4 x 7 x 7          68   6,272\n",
              "2.0  conv2d out 4, kernel 3, padding 1  2.0              4 x 7 x 7         148  14,112\n",
              "5    linear out 10                      5                       10       1,970   3,920\n",
              "     in all                                                     10       2,586  27,636\n"})
            CHECK_MESSAGE(cnn.find(line) != std::string::npos, line << "\n" << cnn);
        CHECK(shown({}).find("mlp\n") == 0);
    }
}
