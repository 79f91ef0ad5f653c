// Real MNIST with the tutorial's schedule and the real binary.
#include "tests/process/csv_rows.h"
#include "tests/support/skip.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace fedhive::testing;

namespace {

const std::filesystem::path kSource = source_folder();

/// Known test accuracies per round by the direct engine, whose bits depend on LibTorch's initial model only;
/// empty if unknown for it.
std::vector<std::string> known_accuracies(const nlohmann::json& manifest) {
    std::vector<std::string> known;
    for (const auto& row : read_csv(kSource / "tests/process/mnist_accuracies.csv"))
        if (row.at("libtorch") == manifest["libtorch"] && manifest["engine"] == "direct")
            known.push_back(row.at("test_accuracy"));
    return known;
}

}  // namespace

TEST_SUITE("Mnist") {
    TEST_CASE("ThreeRoundsLearnWhatTheyLearnedBefore") {
        if (!std::filesystem::exists(kSource / "data" / "mnist" / "train-images-idx3-ubyte"))
            FEDHIVE_SKIP("data/mnist is not there; scripts/data mnist brings it");
        FedhiveRun run;
        run.start({"run", (kSource / "configs" / "mnist.yaml").string(), "--out", run.out().string(), "--set", "workers=2"});
        REQUIRE(run.end() == "exited with status 0");
        std::vector<std::string> accuracies;
        for (const auto& row : read_csv(run.out() / "rounds.csv")) accuracies.push_back(row.at("test_accuracy"));
        REQUIRE(accuracies.size() == 3);
        // An intended change of bits must update mnist_accuracies.csv with the column of rounds.csv.
        if (const auto known = known_accuracies(run.manifest()); !known.empty()) CHECK(accuracies == known);
        // Thirty seeds (results/mnist_against_plain_pytorch) gave 0.9344 with standard deviation 0.0060: other bits would be
        // further off once in a thousand (Student's t, 29 degrees of freedom: 3.66 standard deviations,
        // times the root of 31/30).
        CHECK(std::abs(std::stod(accuracies[2]) - 0.9344) < 0.0222);
    }
}
