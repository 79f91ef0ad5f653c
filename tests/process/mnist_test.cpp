// Real MNIST, the tutorial's schedule, the real binary.
#include "tests/process/run_process.h"
#include "tests/support/skip.h"

#include <doctest/doctest.h>

using namespace fedhive::testing;

TEST_SUITE("Mnist") {
    TEST_CASE("ThreeRoundsLearnWhatPlainPyTorchLearns") {
        const std::filesystem::path source = FEDHIVE_SOURCE_DIR;
        if (!std::filesystem::exists(source / "data" / "mnist" / "train-images-idx3-ubyte"))
            FEDHIVE_SKIP("data/mnist is not there; scripts/data mnist brings it");
        FedhiveRun run;
        run.start({"run", (source / "configs" / "mnist.yaml").string(), "--out", run.out().string(), "--set", "workers=2"});
        REQUIRE(run.end() == "exited with status 0");
        // Five seeds of plain PyTorch (tests/bench/plain_pytorch.py) gave 0.9353, standard deviation 0.0034.
        CHECK(run.manifest()["test_accuracy"].get<double>() > 0.920);
        CHECK(run.manifest()["test_accuracy"].get<double>() < 0.950);
    }
}
