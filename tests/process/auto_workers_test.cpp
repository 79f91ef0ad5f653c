// workers: auto, from the probe to the manifest; it never changes a bit.
#include "tests/process/finished_run.h"

#include "sim/machine/machine.h"
#include "tests/support/skip.h"

#include <doctest/doctest.h>

#include <csignal>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

/// A config with enough rounds to justify a probe, that stops after round 1.
std::vector<std::string> long_run(const std::string& workers) {
    return set({"workers=" + workers, "rounds=10000000", "stop.test_accuracy=0.000001"});
}

struct AutoRun : FedhiveRun {
    void run(std::vector<std::string> more, const char* to) {
        std::ofstream(folder() / "test.yaml") << small_config();
        std::vector<std::string> arguments{"run", (folder() / "test.yaml").string(), "--out", (folder() / to).string()};
        arguments.insert(arguments.end(), more.begin(), more.end());
        go(std::move(arguments));
    }
    void go(std::vector<std::string> arguments) {
        std::filesystem::remove(folder() / "output");
        start(std::move(arguments), {{"XDG_CACHE_HOME", (folder() / "cache").string()}});
    }
    nlohmann::json manifest_of(const char* name) const {
        return nlohmann::json::parse(read_text(folder() / name / "manifest.json"));
    }
    bool said(const char* text) const { return output().find(text) != std::string::npos; }
};

}  // namespace

TEST_SUITE("AutoWorkers") {
    TEST_CASE("ProbedNumberGivesTheBitsOfAnyOtherAndIsKeptForTheNextRun") {
        if (sim::this_machine().cores < 2) FEDHIVE_SKIP("one core leaves nothing to choose");
        AutoRun run;
        run.run(long_run("1"), "fixed");
        REQUIRE(run.end() == "exited with status 0");
        CHECK_FALSE(run.said("auto:"));
        const std::string sha = run.manifest_of("fixed")["model_sha256"];

        run.run(long_run("auto"), "probed");
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        const auto first = run.manifest_of("probed");
        CHECK(first["model_sha256"] == sha);
        const auto& choice = first["workers_auto"];
        CHECK(choice["cost_s"] > 0.0);
        // On a busy machine a probe may exceed its budget, or other programs may have used the cores during it.
        const bool probed = choice["by"] == "probe";
        const bool kept = probed && !choice["disturbed"].get<bool>();
        CHECK(choice["by"] == (probed ? "probe" : "cores"));
        CHECK((choice["measured"].size() >= 2) == probed);
        CHECK_MESSAGE(run.said("(auto: measured ") == probed, run.output());
        CHECK(run.said("beside other programs") == (probed && !kept));
        CHECK(std::filesystem::exists(run.folder() / "cache") == kept);

        run.run(long_run("auto"), "again");
        REQUIRE(run.end() == "exited with status 0");
        const auto second = run.manifest_of("again");
        CHECK(second["model_sha256"] == sha);
        CHECK((second["workers_auto"]["by"] == "cache") == kept);
        CHECK_MESSAGE(run.said("(auto: measured earlier ") == kept, run.output());
        if (!kept) return;
        CHECK(second["workers_auto"]["cost_s"] == 0.0);
        CHECK(second["workers_auto"]["measured"] == first["workers_auto"]["measured"]);
        CHECK(second["workers"] == first["workers"]);
    }

    TEST_CASE("ResumedRunKeepsItsNumber") {
        AutoRun run;
        run.run(set({"workers=auto", "rounds=3", "checkpoint.every=1"}), "out");
        REQUIRE(run.end() == "exited with status 0");
        const auto first = run.manifest_of("out");
        CHECK(first["workers_auto"]["by"] == "cores");  // too short for a probe
        run.go({"run", "--resume", run.out().string(), "--set", "rounds=4"});
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        const auto second = run.manifest_of("out");
        CHECK(second["workers_auto"]["by"] == "before");
        CHECK(second["workers"] == first["workers"]);
        run.go({"run", "--resume", run.out().string(), "--set", "rounds=5", "--set", "workers=3"});
        REQUIRE(run.end() == "exited with status 0");
        CHECK(run.manifest_of("out")["workers"] == 3);
        CHECK(run.manifest_of("out")["workers_auto"].is_null());
    }

    TEST_CASE("ResumedOnAnotherMachineChoosesAnew") {
        AutoRun run;
        run.run(set({"workers=auto", "rounds=3"}), "out");
        REQUIRE(run.end() == "exited with status 0");
        auto manifest = run.manifest_of("out");
        manifest["cores"] = 1234;
        manifest["workers"] = 1;
        std::ofstream(run.out() / "manifest.json") << manifest.dump();
        run.go({"run", "--resume", run.out().string(), "--set", "rounds=4"});
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        CHECK(run.manifest_of("out")["workers_auto"]["by"] == "cores");
    }

    TEST_CASE("MpsThatIsImpossibleHereIsRefusedBeforeAnythingStarts") {
        FedhiveRun run(small_config(), set({"mps=on"}));
        CHECK(run.end() == "exited with status 2");
        CHECK(run.output().find("mps: cannot be on: the device is cpu") != std::string::npos);
        CHECK_FALSE(std::filesystem::exists(run.out()));
    }
}
