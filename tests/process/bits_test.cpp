// Promise 1: the same bits for any number of workers, any number of clients per slot, and any neutral parameter.
#include "sim/strategies/strategy.h"
#include "tests/process/run_process.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

TEST_SUITE("Bits") {
    TEST_CASE("SameModelForAnyNumberOfWorkers") {
        const std::string alone = sha_with({"workers=0"});
        CHECK(alone.size() == 64);
        for (const char* workers : {"workers=1", "workers=2", "workers=3", "workers=4"}) CHECK(sha_with({workers}) == alone);
    }

    TEST_CASE("SameModelForAnyNumberOfClientsInASlot") {
        const std::string one = sha_with({});
        for (const char* per_slot : {"2", "8", "16"})
            CHECK(sha_with({std::string("training.clients_per_slot=") + per_slot}) == one);
    }

    TEST_CASE("SlotsOfManyLengthsForAModelBeyondTheCachesGiveTheSameBits") {
        const std::string large = "model={name: mlp, hidden: 640}";
        const std::string faults = "faults=[{kind: kill, round: 2, client: 3}, {kind: throw, rate: 0.1}]";
        for (const std::string policy : {"failures={policy: retry}", "failures={policy: drop}"}) {
            const std::string one = sha_with({large, faults, policy, "training.clients_per_slot=1", "workers=2"});
            for (const char* workers : {"workers=0", "workers=1", "workers=2", "workers=3"})
                CHECK(sha_with({large, faults, policy, workers}) == one);
        }
    }

    TEST_CASE("SeedChangesTheModelAndRepeatingItDoesNot") {
        CHECK(sha_with({"seed=2"}) == sha_with({"seed=2"}));
        CHECK(sha_with({"seed=2"}) != sha_with({"seed=3"}));
    }

    TEST_CASE("NeutralParametersGiveFedAvg") {
        const std::string fedavg = sha_with({});
        CHECK(sha_with({"strategy={name: fedprox, proximal_mu: 0}"}) == fedavg);
        CHECK(sha_with({"strategy={name: fedavgm, server_momentum: 0}"}) == fedavg);
        CHECK(sha_with({"strategy={name: fedprox, proximal_mu: 0.1}"}) != fedavg);
        CHECK(sha_with({"strategy={name: fedavgm, server_momentum: 0.5}"}) != fedavg);
    }

    TEST_CASE("EveryStrategyRunsAndGivesSameBitsForTwoAndThreeWorkers") {
        for (const sim::StrategySpec& spec : sim::strategy_catalog()) {
            const std::string strategy = "strategy={name: " + spec.name + "}";
            const Options plain = sim::local_rule_spec(spec.local).client_state()
                                      ? Options{"training.optimizer={name: sgd, lr: 0.05}"}
                                      : Options{};
            const Options root =
                aggregation::aggregator_spec(spec.aggregator).root ? Options{"data.root_examples=20"} : Options{};
            const Options chain = spec.server == "dp_ftrl" ? Options{"upload=[{name: clip, norm: 1}]"} : Options{};
            const Options all = root + plain + chain + Options{strategy};
            CHECK(sha_with(all + Options{"workers=2"}) == sha_with(all + Options{"workers=3"}));
        }
    }

    TEST_CASE("StrategyOfOtherPartsIsTheOneThatHasThem") {
        const std::string median = sha_with({"strategy={name: median}"});
        CHECK(sha_with({"strategy={name: fedavg, aggregator: median}"}) == median);
        CHECK(sha_with({"strategy={name: fedavg}"}) != median);
        const std::string prox = sha_with({"strategy={name: fedprox, proximal_mu: 0.1}"});
        CHECK(sha_with({"strategy={name: fedadam, local: prox, proximal_mu: 0.1, server: sgd}"}) == prox);
        const std::string yogi = sha_with({"strategy={name: fedyogi}"});
        CHECK(sha_with({"strategy={name: fedprox, local: plain, server: yogi}"}) == yogi);
        const std::string both = sha_with({"strategy={local: prox, proximal_mu: 0.1, server: yogi}"});
        CHECK(both != prox);
        CHECK(both != yogi);
        const Options plain{"training.optimizer={name: sgd, lr: 0.05}"};
        const std::string scaffold = sha_with(plain + Options{"strategy={name: scaffold}"});
        CHECK(sha_with(plain + Options{"strategy={weighting: uniform, local: scaffold}"}) == scaffold);
        CHECK(sha_with(plain + Options{"strategy={name: scaffold, server: momentum}"}) != scaffold);
    }

    TEST_CASE("EachPrecisionGivesTheSameBitsForAnyNumberOfWorkers") {
        const std::string f32 = sha_with({});
        const std::string bf16 = sha_with({"training.precision=bf16"});
        CHECK(bf16 != f32);
        for (const char* workers : {"workers=0", "workers=1", "workers=3"})
            CHECK(sha_with({"training.precision=bf16", workers}) == bf16);
        CHECK(sha_with({"training.precision=tf32"}) == f32);  // on the CPU tf32 is f32
    }

    TEST_CASE("GraphHasNoEffectOnTheCpuAndTheRunSaysSo") {
        FedhiveRun run(small_config(), {"--set", "training.graph=true"});
        REQUIRE(run.end() == "exited with status 0");
        CHECK(run.manifest()["model_sha256"] == sha_with({}));
        CHECK(run.manifest()["graph"] == false);
        CHECK(run.manifest()["precision"] == "f32");
        CHECK_MESSAGE(run.output().find("training.graph has no effect on the CPU") != std::string::npos, run.output());
    }

    TEST_CASE("DropoutFollowsTheClientNotTheWorker") {
        const std::vector<std::string> glyphs{
            "data={format: glyphs, num_train: 300, num_test: 50, partition: {scheme: iid, clients: 6}}",
            "model={name: mnist_cnn, dropout: true}", "training.cohort=5", "rounds=2"};
        const auto with = [&](const char* workers) {
            auto overrides = glyphs;
            overrides.emplace_back(workers);
            return sha_with(overrides);
        };
        CHECK(with("workers=1") == with("workers=3"));
    }

    TEST_CASE("StoredConfigGivesTheSameModel") {
        FedhiveRun first(small_config());
        REQUIRE(first.end() == "exited with status 0");
        FedhiveRun second(read_text(first.out() / "config.yaml"));
        REQUIRE(second.end() == "exited with status 0");
        CHECK(first.manifest()["model_sha256"] == second.manifest()["model_sha256"]);
        CHECK(read_text(first.out() / "config.yaml") == read_text(second.out() / "config.yaml"));
    }
}
