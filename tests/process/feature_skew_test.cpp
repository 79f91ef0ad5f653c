// Feature skew in the real program, from the file to the tables.
#include "tests/process/csv_rows.h"
#include "tests/process/run_process.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

Options skewed(const std::string& skew) {
    return {"data={format: glyphs, num_train: 80, num_test: 20, skew: " + skew + ", partition: {clients: 4, holdout: 0.2}}",
            "model={name: lr}", "training={cohort: 4, batch_size: 8}", "rounds=2"};
}

}  // namespace

TEST_SUITE("FeatureSkewRun") {
    TEST_CASE("SameBitsForAnyNumberOfWorkersAndManyClientsAtOnceAndOtherOnesThanWithout") {
        const Options config = skewed("{rotation: quarter_turns, noise: 0.2}");
        const std::string one = sha_with(config);
        for (const char* workers : {"workers=0", "workers=3"}) CHECK(sha_with(config + Options{workers}) == one);
        CHECK(sha_with(skewed("{rotation: quarter_turns}")) != one);
        CHECK(sha_with(skewed("{noise: 0.2}")) != one);
        CHECK(sha_with(skewed("{}")) != sha_with(skewed("{rotation: half_turns}")));
        CHECK(sha_with(config + Options{"seeds.partition=2"}) != one);
    }

    TEST_CASE("PartitionSaysHowEachClientsExamplesLook") {
        FedhiveRun run(small_config(), set(skewed("{rotation: quarter_turns, noise: 0.16}")));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        const auto rows = read_csv(run.out() / "partition.csv");
        REQUIRE(rows.size() == 4);
        CHECK(read_lines(run.out() / "partition.csv").front().ends_with(",held_out,turned_deg,noise_std"));
        CHECK(rows[3].at("turned_deg") == "270");
        CHECK(rows[3].at("noise_std") == "0.4");
        CHECK(rows[0].at("noise_std") == "0.2");
        std::filesystem::remove(run.folder() / "output");
        run.start(Options{"partition", (run.folder() / "test.yaml").string()} +
                  set(skewed("{rotation: quarter_turns, noise: 0.16}")));
        CHECK(run.end() == "exited with status 0");
        CHECK_MESSAGE(run.output().find("examples  held out  turned   noise  labels") != std::string::npos, run.output());
        CHECK_MESSAGE(run.output().find("   270°   0.400 ") != std::string::npos, run.output());
        CHECK(run.output().find(std::string(run.manifest()["data_fingerprint"])) != std::string::npos);
    }

    TEST_CASE("WhatHasNoSuchSkewIsRefusedWithItsKey") {
        FedhiveRun run(small_config(), {"--set", "data.skew={rotation: half_turns}"});
        CHECK(run.end() == "exited with status 2");
        CHECK_MESSAGE(run.output().find("data.skew: rotation: examples are features in a row") != std::string::npos,
                      run.output());
    }
}
