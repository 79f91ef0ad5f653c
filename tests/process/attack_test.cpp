// Promise 1 for every attack of colluding clients: the same bits for any number of workers and ranks, after a kill under retry, after
// a resume; what the tables show, and what attacks do to rules.
#include "aggregation/attacks/attack_catalog.h"
#include "tests/process/rank_runs.h"
#include "tests/process/same_run.h"

#include <doctest/doctest.h>

#include <map>
#include <set>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

/// A model whose aggregate the workers share: 11 updates of 0.5 million floats.
const std::string kSharedSum = "model={name: mlp, hidden: 640}";

/// Every attack, in each of its directions; a quarter of 13 clients: 3 attackers.
std::vector<std::string> all_attacks() {
    std::vector<std::string> all;
    for (const aggregation::AttackSpec& spec : aggregation::attack_catalog()) {
        if (spec.craft == nullptr) continue;
        const bool has_direction = std::ranges::find(spec.keys, "direction", &KeySpec::name) != spec.keys.end();
        for (const std::string& more : has_direction ? Options{", direction: unit", ", direction: std", ", direction: sign"}
                                       : spec.name == "alie" ? Options{", z: 1.5"}
                                                             : Options{""})
            all.push_back("attack={name: " + spec.name + ", share: 0.25" + more + "}");
    }
    return all;
}

/// A rule by inner products, in which every update counts.
const std::string kRule = "strategy={name: rfa, weighting: uniform}";

void ended_well(FedhiveRun& run) { REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output()); }

}  // namespace

TEST_SUITE("Attack") {
    TEST_CASE("EveryAttackGivesTheSameBitsForAnyWorkersAndAfterAKill") {
        std::set<std::string> models{sha_with({kSharedSum, kRule, "workers=1"})};
        for (const std::string& attack : all_attacks()) {
            CAPTURE(attack);
            const std::string alone = sha_with({attack, kSharedSum, kRule, "workers=1"});
            CHECK(sha_with({attack, kSharedSum, kRule, "workers=3"}) == alone);
            CHECK(sha_with({attack, kSharedSum, kRule, "workers=2", "failures={policy: retry}",
                            "faults=[{kind: kill, round: 2, client: 3}]"}) == alone);
            models.insert(alone);
        }
        CHECK(models.size() == all_attacks().size() + 1);  // each attack leads to a model of its own
    }

    TEST_CASE("EveryAttackGivesTheSameBitsOverRanksAndAfterAResume") {
        FEDHIVE_NEEDS_RANKS();
        for (const std::string& attack : all_attacks()) {
            CAPTURE(attack);
            FedhiveRun whole(small_config(), set({attack, "rounds=4", "strategy={name: centered_clipping, radius: 1}"}));
            ended_well(whole);
            RankedRun ranked(2, small_config(), set({attack, "rounds=2", "strategy={name: centered_clipping, radius: 1}"}));
            ended_well(ranked);
            ranked.start({"run", "--quiet", "--resume", ranked.out().string(), "--set", "rounds=4"});
            ended_well(ranked);
            CHECK(ranked.manifest()["model_sha256"] == whole.manifest()["model_sha256"]);
            CHECK(comparable(ranked.out() / "clients.csv") == comparable(whole.out() / "clients.csv"));
        }
    }

    TEST_CASE("AttackersAreTheSameInEveryRoundAndShareANorm") {
        FedhiveRun honest(small_config(), set({"training.cohort=13"}));
        FedhiveRun attacked(small_config(),
                            set({"training.cohort=13", "attack={name: inner_product, share: 0.25, epsilon: 2}"}));
        ended_well(honest);
        ended_well(attacked);
        const auto before = read_csv(honest.out() / "clients.csv"), after = read_csv(attacked.out() / "clients.csv");
        REQUIRE(before.size() == after.size());
        std::map<std::string, std::set<std::string>> norms;  // of a round's attackers
        std::set<std::string> attackers;
        for (std::size_t i = 0; i < before.size(); ++i) {
            if (after[i].at("round") == "1") {
                CHECK(after[i].at("update_hash") == before[i].at("update_hash"));  // of what was trained
                if (after[i].at("update_norm") != before[i].at("update_norm")) attackers.insert(after[i].at("client_id"));
            }
            if (attackers.contains(after[i].at("client_id"))) norms[after[i].at("round")].insert(after[i].at("update_norm"));
        }
        CHECK(attackers.size() == 3);
        REQUIRE(norms.size() == 3);
        for (const auto& [round, of_attackers] : norms) CHECK(of_attackers.size() == 1);
    }

    TEST_CASE("ReplayTrainsAnAttackerWithTheSameBits") {
        FedhiveRun run(small_config(), set({"attack={name: mimic, share: 0.5}", "training.cohort=13", "checkpoint.every=1"}));
        ended_well(run);
        for (const auto& row : read_csv(run.out() / "clients.csv")) {
            if (row.at("round") != "3") continue;
            FedhiveRun again;
            again.start({"replay", run.out().string(), "--round", "3", "--client", row.at("client_id")});
            CHECK_MESSAGE(again.end() == "exited with status 0", again.output());
            CHECK_MESSAGE(again.output().find(": the same bits as in the run\n") != std::string::npos, again.output());
        }
    }

    TEST_CASE("ClientStateIsThatOfTheAttackersOwnTraining") {
        const Options scaffold{"strategy={name: scaffold}", "training.optimizer={name: sgd, lr: 0.05}",
                               "attack={name: alie, share: 0.25, z: 1.5}"};
        const std::string alone = sha_with(scaffold + Options{"workers=1"});
        CHECK(sha_with(scaffold + Options{"workers=3"}) == alone);
        CHECK(sha_with(Options{scaffold[0], scaffold[1]}) != alone);
    }

    TEST_CASE("AReversedMeanRuinsTheMeanAndNotTheMedian") {
        const auto accuracy = [](const std::string& rule, const std::string& attack) {
            FedhiveRun run(small_config(),
                           set({"strategy={name: fedavg, weighting: uniform, aggregator: " + rule + "}", attack, "rounds=10",
                                "data={format: glyphs, num_train: 650, num_test: 200, partition: {scheme: iid, clients: 13}}",
                                "training.cohort=13", "training.local_epochs=5",
                                "training.optimizer={name: sgd, lr: 0.1, momentum: 0.9}"}));
            ended_well(run);
            return run.manifest()["test_accuracy"].get<double>();
        };
        const double honest = accuracy("mean", "attack={name: none}");
        const std::string attacked = "attack={name: inner_product, share: 0.15, epsilon: 6}";
        CHECK(accuracy("mean", attacked) < honest - 0.3);
        CHECK(accuracy("median", attacked) > honest - 0.2);
    }

    TEST_CASE("AModelThatAnAttackDrivesAwaySaysSo") {
        FedhiveRun run(small_config(), set({"attack={name: inner_product, epsilon: 1e38}", "rounds=1"}));
        CHECK(run.end() == "exited with status 1");
        CHECK_MESSAGE(run.output().find("the global model has diverged: after round 1") != std::string::npos, run.output());
        CHECK_MESSAGE(run.output().find("; attack 'inner_product' may be the cause") != std::string::npos, run.output());
    }
}
