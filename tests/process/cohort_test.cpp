// Promise 1 for every rule that combines updates: the same bits for any number of workers and ranks, after a kill under retry, after
// a resume; and the cases in which two rules are one.
#include "aggregation/cohort/aggregator_catalog.h"
#include "sim/run/run_files.h"
#include "tests/process/rank_runs.h"
#include "tests/process/same_run.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

/// A model whose aggregate the workers share: 11 updates of 0.5 million floats.
const std::string kLarge = "model={name: mlp, hidden: 640}";

/// `rule`: its name, and its keys behind a comma.
Options with_rule(const std::string& rule, const Options& more = {}) {
    const bool root = aggregation::aggregator_spec(rule.substr(0, rule.find(','))).root;
    return Options{"strategy={name: fedavg, weighting: uniform, aggregator: " + rule + "}"} +
           (root ? Options{"data.root_examples=20"} : Options{}) + more;
}

void finished(FedhiveRun& run) { REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output()); }

/// Every rule, and rules of groups: column by column, by weights, and with the last aggregate.
std::vector<std::string> rules() {
    std::vector<std::string> names{"median, pre_aggregation: nearest_neighbors",
                                   "mean_around_median, pre_aggregation: bucketing", "krum, pre_aggregation: bucketing",
                                   "centered_clipping, pre_aggregation: nearest_neighbors"};
    for (const aggregation::AggregatorSpec& rule : aggregation::aggregator_catalog()) names.push_back(rule.name);
    return names;
}

}  // namespace

TEST_SUITE("Cohort") {
    TEST_CASE("EveryRuleGivesTheSameBitsForAnyWorkersAndAfterAKill") {
        for (const std::string& rule : rules()) {
            CAPTURE(rule);
            const std::string alone = sha_with(with_rule(rule, {kLarge, "workers=1"}));
            CHECK(sha_with(with_rule(rule, {kLarge, "workers=3"})) == alone);
            CHECK(sha_with(with_rule(rule, {kLarge, "workers=2", "failures={policy: retry}",
                                            "faults=[{kind: kill, round: 2, client: 3}]"})) == alone);
        }
    }

    TEST_CASE("EveryRuleGivesTheSameBitsOverRanksAndAfterAResume") {
        FEDHIVE_NEEDS_RANKS();
        for (const std::string& rule : rules()) {
            CAPTURE(rule);
            FedhiveRun whole(small_config(), set(with_rule(rule, {"rounds=4"})));
            finished(whole);
            RankedRun ranked(2, small_config(), set(with_rule(rule, {"rounds=2"})));
            finished(ranked);
            ranked.start({"run", "--quiet", "--resume", ranked.out().string(), "--set", "rounds=4"});
            finished(ranked);
            CHECK(ranked.manifest()["model_sha256"] == whole.manifest()["model_sha256"]);
            CHECK(comparable(ranked.out() / "clients.csv") == comparable(whole.out() / "clients.csv"));
        }
    }

    TEST_CASE("RulesWithoutEffectAreFedAvg") {
        const std::string uniform = sha_with({"strategy={name: fedavg, weighting: uniform}"});
        CHECK(sha_with({"strategy={name: trimmed_mean, trim: 0}"}) == uniform);
        CHECK(sha_with({"strategy={name: krum, byzantine: 0, chosen: 11}"}) == uniform);
        CHECK(sha_with(with_rule("mean_around_median, byzantine: 0")) == uniform);
        CHECK(sha_with(with_rule("robust_rate, threshold: 0")) == uniform);
        CHECK(sha_with(with_rule("median, pre_aggregation: bucketing, bucket_size: 1")) ==
              sha_with({"strategy={name: median}"}));
        CHECK(sha_with(with_rule("median, pre_aggregation: bucketing")) != sha_with({"strategy={name: median}"}));
        CHECK(sha_with({"strategy={name: trimmed_mean, trim: 0.2}"}) != uniform);
        // With equal numbers of steps FedNova is FedAvg.
        const Options equal{"training.local_epochs=null", "training.local_steps=3"};
        CHECK(sha_with(equal + Options{"strategy={name: fednova}"}) == sha_with(equal + Options{"strategy={name: fedavg}"}));
        CHECK(sha_with({"strategy={name: fednova}"}) != sha_with({"strategy={name: fedavg}"}));
    }

    TEST_CASE("ARoundWithTooFewUpdatesMakesNoStep") {
        FedhiveRun run(small_config(),
                       set({"strategy={name: bulyan, byzantine: 2}", "failures={policy: drop}",
                            "faults=[{kind: throw, round: 2, client: 3, attempts: all}]", "training.cohort=11"}));
        finished(run);
        const auto rows = read_csv(run.out() / "rounds.csv");
        REQUIRE(rows.size() == 3);
        // 4 f + 3 = 11: the round without client 3 has 10, if it was asked.
        const bool asked = rows[1].at("accepted") == "10";
        CHECK(rows[1].at("version") == (asked ? "1" : "2"));
        FedhiveRun fewer(small_config(), set({"strategy={name: bulyan, byzantine: 2}", "training.cohort=10"}));
        CHECK(fewer.end() == "exited with status 2");
        CHECK_MESSAGE(fewer.output().find("training.cohort: aggregator 'bulyan' needs 11 updates") != std::string::npos,
                      fewer.output());
    }

    // Updates large enough that workers take the products.
    TEST_CASE("WorkersAddHistoriesToTheirRangesAsOneProcessDoes") {
        const Options large{kLarge, "strategy={name: foolsgold}", "rounds=3"};
        CHECK(sha_with(large + Options{"workers=2"}) == sha_with(large + Options{"workers=0"}));
    }

    TEST_CASE("WorkersTakeTheProductsThatAMethodFileReads") {
        const Options large{kLarge, "strategy={name: multi_krum}", "rounds=3"};
        CHECK(sha_with(large + Options{"workers=2"}) == sha_with(large + Options{"workers=0"}));
    }

    TEST_CASE("SybilsThatWantTheSameDoNotGetIt") {
        const auto success = [](const std::string& strategy) {
            FedhiveRun run(small_config(),
                           set({"rounds=60", "evaluation.every=60",
                                "training={batch_size: 32, optimizer: {name: sgd, lr: 0.01}}", "model={name: lr}",
                                "data={format: glyphs, partition: {scheme: dirichlet, alpha: 0.3, clients: 20}, "
                                "poison: {name: trigger, share: 0.3, target: 3}}",
                                "strategy={name: " + strategy + "}"}));
            finished(run);
            return std::stod(read_csv(run.out() / "rounds.csv").back().at("attack_success"));
        };
        CHECK(success("fedavg") > 0.9);
        CHECK(success("foolsgold") < 0.1);
    }

    TEST_CASE("WhatARuleRemembersIsInTheCheckpoint") {
        FedhiveRun run(small_config(), set(with_rule("centered_clipping, radius: 0.1", {"checkpoint.every=1"})));
        finished(run);
        const sim::OpenState state(sim::checkpoint_path(run.out(), 3));
        const sim::TensorPlace* last = state.find("server.last_aggregate.fc1.weight");
        CHECK(last != nullptr);
        FedhiveRun sums(small_config(), set(with_rule("similarity", {"checkpoint.every=1"})));
        finished(sums);
        std::size_t clients = 0;
        const sim::OpenState kept(sim::checkpoint_path(sums.out(), 3));
        for (std::uint32_t client = 0; client < 11; ++client)
            clients += kept.find(fmt::format("client.{}", client)) != nullptr ? 1 : 0;
        CHECK(clients > 2);
    }
}
