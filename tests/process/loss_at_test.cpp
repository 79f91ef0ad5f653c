// Losses that a method takes at vectors of a client before it trains (fh.loss_at), and models of the server that begin as drawn ones: IFCA.
#include "tests/process/rank_runs.h"
#include "tests/process/same_run.h"

#include <doctest/doctest.h>

#include <fstream>
#include <set>
#include <string>
#include <vector>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

const Options kIfca{"strategy={file: " + (source_folder() / "configs/methods/ifca.py").string() + "}",
                    "data.partition.holdout=0.25", "evaluation.clients={every: 1, personalized: true}"};

void measured_ended_well(FedhiveRun& run) { REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output()); }

std::string results_of(const FedhiveRun& run) {
    return comparable(run.out() / "clients.csv") + read_text(run.out() / "fairness.csv") +
           run.manifest()["model_sha256"].get<std::string>();
}

}  // namespace

TEST_SUITE("LossAt") {
    TEST_CASE("TheLossAtTheSentModelIsTheMeasuredOne") {
        const TemporaryFolder folder;
        const std::filesystem::path file = folder.path() / "told.yaml";
        std::ofstream(file) << "losses_at: {F: w_t}\nreports: [{name: told}]\nend: told = F\n";
        for (const char* engine : {"training.engine=direct", "training.engine=libtorch"}) {
            CAPTURE(engine);
            FedhiveRun run(small_config(),
                           set({"strategy={file: " + file.string() + "}", "training.measure=[loss]", "workers=3", engine}));
            measured_ended_well(run);
            for (const auto& row : read_csv(run.out() / "clients.csv")) CHECK(row.at("told") == row.at("sent_loss"));
            // It takes no draw, and changes no model.
            CHECK(run.manifest()["model_sha256"] == sha_with({engine}));
        }
    }

    TEST_CASE("EachClientTakesTheModelWithTheLeastLoss") {
        FedhiveRun run(small_config(), set(kIfca + Options{"training.cohort=13", "rounds=3"}));
        measured_ended_well(run);
        std::set<std::string> taken;
        for (const auto& row : read_csv(run.out() / "clients.csv")) {
            const std::string choice = row.at("took_1") + row.at("took_2") + row.at("took_3");
            CHECK(std::set<std::string>{"100", "010", "001"}.contains(choice));
            if (row.at("round") == "1") taken.insert(choice);
        }
        CHECK(taken.size() >= 2);  // the models are drawn, and differ before anybody has trained
    }

    TEST_CASE("IfcaHasTheSameBitsForAnyWorkersAndAfterAKill") {
        FedhiveRun alone(small_config(), set(kIfca + Options{"workers=0"})),
            three(small_config(),
                  set(kIfca + Options{"workers=3", "failures={policy: retry}", "faults=[{kind: kill, round: 2, client: 3}]"}));
        measured_ended_well(alone);
        measured_ended_well(three);
        CHECK(read_text(alone.out() / "fairness.csv") == read_text(three.out() / "fairness.csv"));
        CHECK(alone.manifest()["model_sha256"] == three.manifest()["model_sha256"]);
    }

    TEST_CASE("IfcaHasTheSameBitsOverRanksAndAfterAResume") {
        FEDHIVE_NEEDS_RANKS();
        FedhiveRun whole(small_config(), set(kIfca + Options{"rounds=4"}));
        measured_ended_well(whole);
        RankedRun ranked(2, small_config(), set(kIfca + Options{"rounds=2"}));
        measured_ended_well(ranked);
        ranked.start({"run", "--quiet", "--resume", ranked.out().string(), "--set", "rounds=4"});
        measured_ended_well(ranked);
        CHECK(results_of(ranked) == results_of(whole));
    }

    TEST_CASE("AVisitOfIfcaIsReplayedBitForBit") {
        FedhiveRun run(small_config(), set(kIfca));
        measured_ended_well(run);
        check_last_visit_replays(run);
    }
}
