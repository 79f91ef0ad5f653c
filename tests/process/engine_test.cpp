// The direct engine in the real program: the same bits whoever trains and whichever kernels run.
#include "tests/process/finished_run.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

Options cnn(const std::string& engine) {
    return {"data={format: glyphs, num_train: 160, num_test: 50, partition: {clients: 4}}", "training.cohort=4",
            "model={name: mnist_cnn}", "training.engine=" + engine};
}

nlohmann::json manifest_with(const Options& overrides, const std::string& kernels = "") {
    FedhiveRun run;
    std::ofstream(run.folder() / "test.yaml") << small_config();
    std::vector<std::string> arguments{"run", (run.folder() / "test.yaml").string(), "--out", run.out().string()};
    const std::vector<std::string> more = set(overrides);
    arguments.insert(arguments.end(), more.begin(), more.end());
    run.start(arguments, {{"FEDHIVE_KERNELS", kernels}});
    CAPTURE(run.output());
    REQUIRE(run.end() == "exited with status 0");
    return run.manifest();
}

}  // namespace

TEST_SUITE("Engine") {
    TEST_CASE("SameBitsForAnyNumberOfWorkersAndFromEveryKernel") {
        const nlohmann::json one = manifest_with(cnn("auto") + Options{"workers=1"});
        CHECK(one["engine"] == "direct");
        for (const char* workers : {"workers=0", "workers=3"})
            CHECK(manifest_with(cnn("direct") + Options{workers})["model_sha256"] == one["model_sha256"]);
        // Plain kernels are everywhere; the fastest ones of this processor were those above.
        const nlohmann::json plain = manifest_with(cnn("direct"), "plain");
        CHECK(plain["kernels"] == "plain");
        CHECK(plain["model_sha256"] == one["model_sha256"]);
        CHECK(plain["test_loss"] == one["test_loss"]);
    }

    TEST_CASE("OtherEngineGivesOtherBitsAndIsRefusedInAResume") {
        Finished run(set(cnn("direct")));
        const nlohmann::json other = manifest_with(cnn("libtorch"));
        CHECK(other["engine"] == "libtorch");
        CHECK(run.manifest()["model_sha256"] != other["model_sha256"]);
        run.refuses(set({"training.engine=libtorch"}), {"training.engine: direct -> libtorch"});
        REQUIRE_MESSAGE(run.resume(set({"rounds=4"})) == "exited with status 0", run.output());
        CHECK(run.manifest()["model_sha256"] == manifest_with(cnn("direct") + Options{"rounds=4"})["model_sha256"]);
    }

    TEST_CASE("KernelsThatThereAreNotAreRefusedBeforeAnybodyStarts") {
        FedhiveRun run;
        std::ofstream(run.folder() / "test.yaml") << small_config();
        run.start({"run", (run.folder() / "test.yaml").string(), "--out", run.out().string()}, {{"FEDHIVE_KERNELS", "abacus"}});
        CHECK(run.end() == "exited with status 2");
        CHECK(run.output().find("FEDHIVE_KERNELS=abacus: this processor has no such kernels; it has: ") != std::string::npos);
        CHECK(!std::filesystem::exists(run.out()));
    }
}
