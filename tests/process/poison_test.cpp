// Poisoned clients in the real program: a backdoor that is learned and counted, and the promises on bits.
#include "tests/process/rank_runs.h"
#include "tests/process/same_run.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

Options images(const std::string& poison, const Options& more = {}) {
    return Options{"data={format: glyphs, num_train: 1600, num_test: 100, partition: {clients: 8}, poison: " + poison + "}",
                   "model={name: lr}", "training={cohort: 8, batch_size: 8, optimizer: {lr: 0.05}}"} +
           more;
}

const std::string kTrigger = "{name: trigger, share: 0.25, target: 3}";

double last(const FedhiveRun& run, const std::string& column) {
    return std::stod(read_csv(run.out() / "rounds.csv").back().at(column));
}

}  // namespace

TEST_SUITE("PoisonRun") {
    TEST_CASE("ABackdoorIsLearnedBesideTheTask") {
        FedhiveRun run(small_config(), set(images(kTrigger, {"rounds=12"})));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        FedhiveRun clean(small_config(), set(images("{name: none}", {"rounds=12"})));
        REQUIRE_MESSAGE(clean.end() == "exited with status 0", clean.output());
        CHECK(last(run, "test_accuracy") > 0.5);
        CHECK(last(run, "test_accuracy") > last(clean, "test_accuracy") - 0.2);
        CHECK(last(run, "attack_success") > 0.8);
        CHECK_FALSE(read_csv(clean.out() / "rounds.csv").back().contains("attack_success"));
        CHECK(run.manifest()["data_fingerprint"] == clean.manifest()["data_fingerprint"]);
    }

    TEST_CASE("SameBitsForAnyWorkersAndRanks") {
        for (const std::string& poison : {kTrigger, std::string("{name: label_flip, share: 0.5}")}) {
            CAPTURE(poison);
            FedhiveRun one(small_config(), set(images(poison, {"workers=1"})));
            REQUIRE_MESSAGE(one.end() == "exited with status 0", one.output());
            CHECK(sha_with(images(poison, {"workers=3"})) == one.manifest()["model_sha256"]);
            CHECK(sha_with(images("{name: none}")) != one.manifest()["model_sha256"]);
            FEDHIVE_NEEDS_RANKS();
            RankedRun two(2, small_config(), set(images(poison, {"data.shared=rank0"})));
            REQUIRE_MESSAGE(two.end() == "exited with status 0", two.output());
            CHECK(two.manifest()["model_sha256"] == one.manifest()["model_sha256"]);
            CHECK(comparable(two.out() / "rounds.csv") == comparable(one.out() / "rounds.csv"));
        }
    }

    TEST_CASE("ATriggerLargerThanTheImageIsRefused") {
        FedhiveRun run(small_config(), set(images("{name: trigger, size: 40}")));
        CHECK(run.end() == "exited with status 2");
        CHECK_MESSAGE(run.output().find("data.poison: size: a trigger of 40 x 40 pixels") != std::string::npos, run.output());
    }
}
