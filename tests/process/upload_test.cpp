// Upload chains in the real program: the same bits whoever trains, what a norm promises in the tables, and what goes with what.
#include "tests/process/csv_rows.h"
#include "tests/process/finished_run.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

const std::string kPrivate = "upload=[{name: clip, norm: 0.5}, {name: gaussian_noise, multiplier: 0.3}]";
const std::string kUniform = "strategy={name: fedavg, weighting: uniform}";

}  // namespace

TEST_SUITE("Upload") {
    TEST_CASE("SameBitsForAnyNumberOfWorkersAfterFailuresAndAResume") {
        for (const char* engine : {"direct", "libtorch"}) {
            CAPTURE(engine);
            const Options chain{kPrivate, kUniform, std::string("training.engine=") + engine};
            Finished run(set(chain + Options{"workers=3", "training.clients_per_slot=4"}));
            const std::string of_five = sha_with(chain + Options{"workers=0", "rounds=5"});
            REQUIRE_MESSAGE(run.resume(set({"rounds=5", "workers=1"})) == "exited with status 0", run.output());
            CHECK(run.manifest()["model_sha256"] == of_five);
            CHECK(sha_with(chain + Options{"rounds=5", "faults=[{kind: kill, rate: 0.2}]",
                                           "failures={policy: retry, attempts: 9}"}) == of_five);
            CHECK(sha_with(chain + Options{"rounds=5", "upload=[{name: clip, norm: 0.5}]"}) != of_five);
        }
        const Options at_once{kPrivate, kUniform, "training.clients_at_once=4", "rounds=2"};
        CHECK(sha_with(at_once + Options{"workers=0"}) == sha_with(at_once + Options{"workers=3"}));
        CHECK(sha_with(at_once) != sha_with(at_once + Options{"upload=[{name: clip, norm: 0.5}]"}));
    }

    TEST_CASE("ReplayTakesTheChainAlongWhereClientsAreSentAgainToo") {
        Finished run(set({kPrivate, kUniform, "mode={name: semi_async, quorum: 3}", "clock=virtual",
                          "devices.compute={distribution: zipf}", "rounds=6"}));
        for (const auto& row : read_csv(run.out() / "clients.csv")) {
            if (row.at("round") != "6" || !row.at("failure").empty()) continue;
            FedhiveRun again;
            again.start({"replay", run.out().string(), "--round", "6", "--client", row.at("client_id")});
            CHECK_MESSAGE(again.end() == "exited with status 0", again.output());
            CHECK_MESSAGE(again.output().find(": the bits of the run\n") != std::string::npos, again.output());
        }
    }

    TEST_CASE("NoUpdateIsLongerThanItsClip") {
        const auto norms = [](const std::string& chain) {
            FedhiveRun run(small_config(), set({chain}));
            REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
            std::vector<double> all;
            for (const auto& row : read_csv(run.out() / "clients.csv")) all.push_back(std::stod(row.at("update_norm")));
            return all;
        };
        const std::vector<double> bare = norms("upload=[]"), clipped = norms("upload=[{name: clip, norm: 0.1}]");
        REQUIRE(bare.size() == clipped.size());
        CHECK(*std::max_element(bare.begin(), bare.end()) > 0.2);
        CHECK(*std::max_element(clipped.begin(), clipped.end()) < 0.1 * (1 + 1e-5));
    }

    TEST_CASE("MedianAndKrumStandAnAttackThatRuinsTheMean") {
        const auto accuracy = [](const std::string& rule, const std::string& chain) {
            FedhiveRun run(small_config(),
                           set({"strategy={name: fedavg, aggregator: " + rule + "}", chain, "rounds=10",
                                "data={format: glyphs, num_train: 650, num_test: 200, partition: {scheme: iid, clients: 13}}",
                                "training.local_epochs=5", "training.optimizer={name: sgd, lr: 0.1, momentum: 0.9}"}));
            REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
            return run.manifest()["test_accuracy"].get<double>();
        };
        const double honest = accuracy("mean", "upload=[]");
        const std::string attacked = "upload=[{name: random_update, share: 0.3, std: 1}]";
        CHECK(accuracy("mean", attacked) < honest - 0.3);
        CHECK(accuracy("median", attacked) > honest - 0.1);
        CHECK(accuracy("krum, byzantine: 4, chosen: 7", attacked) > honest - 0.1);
    }

    TEST_CASE("ChainThatMakesNoSenseIsRefused") {
        const auto refused = [](const Options& more, const std::string& text) {
            FedhiveRun run(small_config(), set(more));
            CHECK(run.end() == "exited with status 2");
            CHECK_MESSAGE(run.output().find(text) != std::string::npos, run.output());
            CHECK_FALSE(std::filesystem::exists(run.out()));
        };
        refused({"upload=[{name: gaussian_noise}]", kUniform},
                "upload: item 0: 'gaussian_noise' is as large as the norm that updates are clipped to; write {name: clip, "
                "norm: ...} "
                "before it");
        refused({"upload=[{name: clip}, {name: gaussian_noise}, {name: clip}]", kUniform},
                "upload: item 2: 'clip' behind 'gaussian_noise' would cut the noise down as well; write it before");
        refused({kPrivate},
                "strategy.weighting: upload step 'gaussian_noise' is measured by updates that weigh alike; allowed with it: "
                "uniform");
        refused({"upload=[{name: clip}]", "strategy={name: scaffold}", "training.optimizer={name: sgd, lr: 0.05}"},
                "upload: strategy 'scaffold' sends what follows from its update as it is");
        refused({"upload=[{name: clip}]", "mode={name: gradient_averaging}", "training.cohort=13"},
                "upload: in mode 'gradient_averaging' no client sends an update of its own; leave it out, or use mode "
                "synchronous or "
                "semi_async or async");
        refused({"upload=[{name: clop}]"}, "upload[0].name: unknown value 'clop'");
        refused({"upload=[{name: clip, norm: 0}]"}, "upload[0].norm: ");
        refused(
            {"upload=[{name: clip}, {name: clip}, {name: clip}, {name: clip}, {name: clip}, {name: clip}, {name: clip}, {name: "
             "clip}, {name: clip}]"},
            "upload: 9 steps; allowed: up to 8");
    }
}
