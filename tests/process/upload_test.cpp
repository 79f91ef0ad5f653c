// Upload chains in the real program: the same bits for any number of workers, the promised norms in the
// tables, allowed combinations.
#include "sim/state/checkpoint.h"
#include "tests/process/csv_rows.h"
#include "tests/process/finished_run.h"

#include <doctest/doctest.h>

#include <set>

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

    TEST_CASE("EveryStepThatDrawsGivesTheSameBitsForAnyNumberOfWorkers") {
        std::set<std::string> seen{sha_with({"workers=1"})};
        for (const char* chain :
             {"{name: fp16}", "{name: terngrad}", "{name: error_feedback}, {name: stc, kept: 0.1}", "{name: drive}",
              "{name: top_k, kept: 0.5}, {name: eden, bits: 3}", "{name: laplace_noise, epsilon: 10000}",
              "{name: clip, norm: 0.5}, {name: priv_unit, epsilon: 1000}"}) {
            CAPTURE(chain);
            const std::string upload = fmt::format("upload=[{}]", chain), sha = sha_with({upload, "workers=1"});
            CHECK(sha_with({upload, "workers=3"}) == sha);
            CHECK(seen.insert(sha).second);
        }
    }

    TEST_CASE("ReplayTakesTheChainAlongWhereClientsAreSentAgainToo") {
        Finished run(set({kPrivate, kUniform, "mode={name: semi_async, quorum: 3}", "clock=virtual",
                          "devices.compute={distribution: zipf}", "rounds=6"}));
        for (const auto& row : read_csv(run.out() / "clients.csv")) {
            if (row.at("round") != "6" || !row.at("failure").empty()) continue;
            FedhiveRun again;
            again.start({"replay", run.out().string(), "--round", "6", "--client", row.at("client_id")});
            CHECK_MESSAGE(again.end() == "exited with status 0", again.output());
            CHECK_MESSAGE(again.output().find(": the same bits as in the run\n") != std::string::npos, again.output());
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

    TEST_CASE("BytesUpAreThoseOfTheCompressedUpdateAndArrivalsComeSooner") {
        const auto last = [](const Options& more) {
            FedhiveRun run(small_config(),
                           set(more + Options{"clock=virtual", "devices.link={upload: 1000, download: 1000000}"}));
            REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
            return read_csv(run.out() / "rounds.csv").back();
        };
        // 16 · 32 + 32, 32 · 32 + 32, 32 · 5 + 5 parameters, 11 clients per round.
        constexpr std::uint64_t kParameters = 544 + 1056 + 165;
        const auto bare = last({}), few = last({"upload=[{name: top_k, kept: 0.01}]"});
        CHECK(bare.at("bytes_up") == std::to_string(11 * 4 * kParameters));
        CHECK(few.at("bytes_down") == bare.at("bytes_down"));
        CHECK(few.at("bytes_up") == std::to_string(11 * 18 * 8));
        CHECK(std::stod(few.at("virtual_s")) == doctest::Approx(std::stod(bare.at("virtual_s")) - 3 * (7.060 - 0.144)));
        CHECK(last({"upload=[{name: sign}]", "mode={name: semi_async, quorum: 4}"}).at("bytes_up") ==
              std::to_string(4 * (221 + 6 * 4)));
    }

    TEST_CASE("ClientsKeepWhatWasLeftOutWhateverGoesWrong") {
        const std::string feedback = "upload=[{name: error_feedback}, {name: top_k, kept: 0.05}]";
        for (const char* engine : {"direct", "libtorch"}) {
            CAPTURE(engine);
            const Options chain{feedback, std::string("training.engine=") + engine};
            Finished run(set(chain + Options{"workers=3"}));
            const std::string of_five = sha_with(chain + Options{"workers=0", "rounds=5"});
            REQUIRE_MESSAGE(run.resume(set({"rounds=5", "workers=1"})) == "exited with status 0", run.output());
            CHECK(run.manifest()["model_sha256"] == of_five);
            CHECK(sha_with(chain + Options{"rounds=5", "faults=[{kind: kill, rate: 0.2}]",
                                           "failures={policy: retry, attempts: 9}"}) == of_five);
            CHECK(sha_with(chain + Options{"rounds=5", "upload=[{name: top_k, kept: 0.05}]"}) != of_five);
            const auto last = read_csv(run.out() / "clients.csv").back();
            FedhiveRun again;
            again.start({"replay", run.out().string(), "--round", "5", "--client", last.at("client_id")});
            CHECK_MESSAGE(again.end() == "exited with status 0", again.output());
            CHECK_MESSAGE(again.output().find(": the same bits as in the run\n") != std::string::npos, again.output());
        }
    }

    TEST_CASE("WhoIsNotAcceptedKeepsWhatItHad") {
        const Options two{"upload=[{name: error_feedback}, {name: sign}]", "training.cohort=2",
                          "data.partition={scheme: iid, clients: 2}", "failures={policy: drop}"};
        const auto states = [&](const Options& more, std::int64_t rounds) {
            FedhiveRun run(small_config(), set(two + more + Options{"rounds=" + std::to_string(rounds), "checkpoint.every=1"}));
            REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
            const sim::CheckpointFile file = sim::read_checkpoint(sim::checkpoint_path(run.out(), rounds));
            std::vector<std::string> kept;
            for (const char* client : {"client.0", "client.1"}) {
                REQUIRE(file.state.find(client) != nullptr);
                kept.push_back(bytes_of(file.state, *file.state.find(client)));
            }
            return kept;
        };
        const std::vector<std::string> first = states({}, 1), second = states({}, 2);
        for (const char* kind : {"drop", "nan", "throw", "kill"}) {
            CAPTURE(kind);
            const std::vector<std::string> kept = states({fmt::format("faults=[{{kind: {}, round: 2, client: 0}}]", kind)}, 2);
            CHECK(kept[0] == first[0]);
            CHECK(kept[1] == second[1]);
        }
        CHECK(first[0] != second[0]);
    }

    TEST_CASE("ChainThatMakesNoSenseIsRefused") {
        const auto refused = [](const Options& more, const std::string& text) {
            FedhiveRun run(small_config(), set(more));
            CHECK(run.end() == "exited with status 2");
            CHECK_MESSAGE(run.output().find(text) != std::string::npos, run.output());
            CHECK_FALSE(std::filesystem::exists(run.out()));
        };
        refused({"upload=[{name: gaussian_noise}]", kUniform}, "upload: item 0: 'gaussian_noise' ");
        refused({"upload=[{name: clip}, {name: gaussian_noise}, {name: clip}]", kUniform},
                "upload: item 2: 'clip' must not follow 'gaussian_noise'");
        refused({"upload=[{name: clip}, {name: gaussian_noise}, {name: sign_flip}]", kUniform},
                "upload: item 2: 'sign_flip' must not follow 'gaussian_noise'");
        for (const char* chain : {"{name: gaussian_noise}, {name: quantize}", "{name: top_k}, {name: gaussian_noise}"})
            refused({fmt::format("upload=[{{name: clip}}, {}]", chain), kUniform}, " some of the noise that 'gaussian_noise' ");
        refused({kPrivate, "strategy={name: median}"}, "strategy.aggregator:");
        refused({kPrivate}, "strategy.weighting:");
        refused({kPrivate, "strategy={name: scaffold}", "training.optimizer={name: sgd, lr: 0.05}"},
                "upload: strategy 'scaffold' ");
        refused({"upload=[{name: clip}]", "mode={name: gradient_averaging}", "training.cohort=13"},
                "upload: in mode 'gradient_averaging' ");
        refused({"upload=[{name: top_k}, {name: clip}]"}, "upload: item 1: 'clip' must not follow 'top_k'");
        refused({"upload=[{name: quantize}, {name: top_k}]"}, "upload: item 1: 'top_k' drops values");
        refused({"upload=[{name: top_k}, {name: quantize}, {name: sign}]"}, "remove 'sign'");
        refused({"upload=[{name: error_feedback}]"}, "upload: 'error_feedback' ");
        refused({"upload=[{name: error_feedback}, {name: clip}, {name: top_k}]"},
                "upload: item 1: 'clip' must not follow 'error_feedback'");
        refused({"upload=[{name: error_feedback}, {name: sign}]", "mode={name: semi_async, quorum: 3}"},
                "does not work in mode 'semi_async'");
        refused({"upload=[{name: error_feedback}, {name: sign}]", "training.clients_per_slot=4"}, "training.clients_per_slot:");
        refused({"upload=[{name: error_feedback}, {name: sign}]", "model={name: mlp, hidden: 3000}",
                 "data.partition={scheme: iid, clients: 10000}", "data.num_train=10000", "rounds=3000"},
                "upload: 'error_feedback' stores ");
        refused({"upload=[{name: top_k, kept: 0}]"}, "upload[0].kept: ");
        refused({"upload=[{name: quantize, bits: 1}]"}, "upload[0].bits: ");
        refused({"upload=[{name: clop}]"}, "upload[0].name: unknown value 'clop'");
        refused({"upload=[{name: clip, norm: 0}]"}, "upload[0].norm: ");
        refused(
            {"upload=[{name: clip}, {name: clip}, {name: clip}, {name: clip}, {name: clip}, {name: clip}, {name: clip}, {name: "
             "clip}, {name: clip}]"},
            "upload: has 9 steps; allowed: at most 8");
    }
}
