// The embedded data set distinguishes models, and the quickstart learns: the figures that its page promises.
#include "tests/process/run_process.h"

#include <doctest/doctest.h>

using namespace fedhive::testing;

namespace {

double accuracy_of(const std::string& config_file, const std::vector<std::string>& overrides) {
    FedhiveRun run;
    std::vector<std::string> arguments{"run", config_file, "--out", run.out().string(), "--set", "workers=2"};
    for (const std::string& text : overrides) arguments.insert(arguments.end(), {"--set", text});
    run.start(arguments);
    CHECK_MESSAGE(run.end(200.0) == "exited with status 0", run.output());
    return run.manifest()["test_accuracy"];
}

const std::string kQuickstart = (source_folder() / "configs/quickstart.yaml").string();

/// One client with all examples and one epoch per round: central training.
std::vector<std::string> centrally(const std::string& model) {
    return {"data.partition.clients=1", "training.cohort=1", "training.local_epochs=1", "rounds=12", "model=" + model};
}

}  // namespace

TEST_SUITE("Glyphs") {
    TEST_CASE("QuickstartReachesItsAccuracy") { CHECK(accuracy_of(kQuickstart, {}) >= 0.93); }

    TEST_CASE("LogisticRegressionTrainedCentrallyStaysUnder95Percent") {
        const double accuracy = accuracy_of(kQuickstart, centrally("{name: lr}"));
        CHECK(accuracy < 0.95);
        CHECK(accuracy > 0.60);
    }

    TEST_CASE("CnnTrainedCentrallyExceeds97Percent") {
        CHECK(accuracy_of(kQuickstart, centrally("{name: mnist_cnn, dropout: false}")) > 0.97);
    }
}
