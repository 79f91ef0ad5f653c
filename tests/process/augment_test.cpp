// Augmented training in the real program: the same transforms for every engine, way of training and number of
// workers; none in evaluation.
#include "tests/process/finished_run.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

Options augmented(const std::string& engine, const std::string& augment = "{crop_padding: 3, flip: horizontal}") {
    return {"data={format: glyphs, num_train: 160, num_test: 50, normalize: {mean: [0.11], std: [0.2]}, augment: " + augment +
                ", partition: {clients: 4}}",
            "training={cohort: 4, local_epochs: 3, batch_size: 8, optimizer: {lr: 0.05}, engine: " + engine + "}",
            "model={name: mnist_cnn, dropout: false}"};
}

const std::string kNone = "{}";

double first_loss(const Options& options, const std::string& column) {
    FedhiveRun run(small_config(), set(options + Options{"rounds=1"}));
    REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
    return std::stod(read_csv(run.out() / "rounds.csv")[0].at(column));
}

}  // namespace

TEST_SUITE("Augment") {
    TEST_CASE("SameBitsForAnyNumberOfWorkersAndAfterAResume") {
        for (const char* engine : {"direct", "libtorch"}) {
            CAPTURE(engine);
            const std::string one = sha_of(set(augmented(engine) + Options{"workers=1"}));
            for (const char* workers : {"workers=0", "workers=2", "workers=3"})
                CHECK(sha_of(set(augmented(engine) + Options{workers})) == one);
            CHECK(sha_of(set(augmented(engine, kNone))) != one);
            CHECK(sha_of(set(augmented(engine, "{crop_padding: 3}"))) != one);
        }
        Finished run(set(augmented("direct") + Options{"rounds=2"}));
        REQUIRE_MESSAGE(run.resume(set({"rounds=4"})) == "exited with status 0", run.output());
        CHECK(run.manifest()["model_sha256"] == sha_of(set(augmented("direct") + Options{"rounds=4"})));
        run.refuses(set({"data.augment.flip=none"}), {"data.augment.flip: horizontal -> none"});
    }

    TEST_CASE("EveryEngineAndEveryWayOfTrainingSeesTheSame") {
        const double direct = first_loss(augmented("direct"), "train_loss");
        CHECK(first_loss(augmented("libtorch"), "train_loss") == doctest::Approx(direct).epsilon(1e-6));
        CHECK(first_loss(augmented("libtorch") + Options{"training.clients_at_once=4"}, "train_loss") ==
              doctest::Approx(direct).epsilon(1e-6));
        CHECK(std::abs(first_loss(augmented("direct", kNone), "train_loss") - direct) > 1e-2 * direct);
    }

    TEST_CASE("EvaluationSeesExamplesAsTheyAre") {
        const Options still{"training.optimizer.lr=1e-30", "evaluation.clients.every=1", "data.partition.holdout=0.2"};
        for (const char* engine : {"direct", "libtorch"}) {
            CAPTURE(engine);
            CHECK(first_loss(augmented(engine) + still, "test_loss") ==
                  first_loss(augmented(engine, kNone) + still, "test_loss"));
            CHECK(first_loss(augmented(engine) + still, "train_loss") !=
                  first_loss(augmented(engine, kNone) + still, "train_loss"));
        }
    }

    TEST_CASE("EveryModeTrainsOnIt") {
        for (const std::string mode : {"{name: gradient_averaging}", "{name: parameter_server}", "{name: async}",
                                       "{name: semi_async, quorum: 2}", "{name: split, cut: conv1}"}) {
            CAPTURE(mode);
            const auto sha = [&](const std::string& augment) {
                return sha_of(set(augmented("auto", augment) + Options{"mode=" + mode, "rounds=1", "workers=4"}));
            };
            CHECK(sha("{flip: horizontal}") != sha(kNone));
        }
    }

    TEST_CASE("WhatIsNoImageIsRefusedWithItsLine") {
        FedhiveRun run(small_config(),
                       set({"data={format: synthetic, num_train: 60, augment: {flip: horizontal}, partition: {clients: 3}}",
                            "model={name: lr}", "training.cohort=3"}));
        CHECK(run.end() == "exited with status 2");
        CHECK_MESSAGE(run.output().find("data.augment: needs images, but ") != std::string::npos, run.output());
    }
}
