// SCAFFOLD in the real program: client states follow the paper for any number of workers and after failures.
#include "aggregation/memory/shared_segment.h"
#include "tests/process/finished_run.h"
#include "tests/process/kept_by_clients.h"
#include "tests/support/right_hash.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

const Options kScaffold{"strategy={name: scaffold}", "training.optimizer={name: sgd, lr: 0.05}", "training.cohort=5"};

Options plus(const Options& more) { return kScaffold + more; }

/// Checks that c is the mean of c_k over all 13 clients. Returns the number of clients with a state.
std::size_t control_is_the_mean_of_what_clients_keep(const std::filesystem::path& run, std::int64_t round) {
    return server_knows_the_sum_of_what_clients_keep(run, round, "model.c.", 1.0 / 13.0);
}

}  // namespace

TEST_SUITE("Scaffold") {
    TEST_CASE("FirstRoundIsFedAvgsAndTheNextIsNot") {
        const Options fedavg{"strategy={name: fedavg, weighting: uniform}", "training.optimizer={name: sgd, lr: 0.05}",
                             "training.cohort=5"};
        CHECK(sha_with(plus({"rounds=1"})) == sha_with(fedavg + Options{"rounds=1"}));
        const std::string two = sha_with(plus({"rounds=2"}));
        CHECK(two != sha_with(fedavg + Options{"rounds=2"}));
        CHECK(sha_with(plus({"strategy.option=1", "rounds=1"})) == sha_with(fedavg + Options{"rounds=1"}));
        CHECK(sha_with(plus({"strategy.option=1", "rounds=2"})) != two);
    }

    TEST_CASE("FirstOptionKeepsTheGradientAtTheModelThatWasSent") {
        // With one batch and one step both options keep the same values up to rounding, also in round 2: the
        // update is that gradient.
        const Options one_step{"training.batch_size=1000", "training.local_epochs=1", "rounds=2", "training.cohort=13",
                               "checkpoint.every=1"};
        FedhiveRun by_gradient(small_config(), set(plus(one_step) + Options{"strategy.option=1"}));
        FedhiveRun by_steps(small_config(), set(plus(one_step)));
        REQUIRE_MESSAGE(by_gradient.end() == "exited with status 0", by_gradient.output());
        REQUIRE_MESSAGE(by_steps.end() == "exited with status 0", by_steps.output());
        const auto kept = [](const FedhiveRun& run) {
            std::vector<std::vector<float>> states;
            const sim::OpenState file = sim::read_checkpoint(sim::checkpoint_path(run.out(), 2)).state;
            for (const sim::TensorPlace& tensor : file.tensors())
                if (tensor.name.starts_with("client.")) states.push_back(floats_of(file, tensor));
            return states;
        };
        const auto gradients = kept(by_gradient), steps = kept(by_steps);
        REQUIRE(gradients.size() == 13);
        REQUIRE(steps.size() == 13);
        for (std::size_t client = 0; client < 13; ++client) {
            double distance = 0.0, length = 0.0;
            for (std::size_t i = 0; i < steps[client].size(); ++i) {
                distance += std::pow(static_cast<double>(gradients[client][i]) - static_cast<double>(steps[client][i]), 2);
                length += std::pow(static_cast<double>(gradients[client][i]), 2);
            }
            CHECK(length > 1e-6);
            CHECK(std::sqrt(distance) < 1e-4 * std::sqrt(length));
        }
    }

    TEST_CASE("PassOfTheFirstOptionTakesItsTimeOnTheVirtualClock") {
        const auto simulated = [](const Options& more) {
            FedhiveRun run(small_config(), set(plus(more) + Options{"rounds=1", "clock=virtual"}));
            REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
            return read_csv(run.out() / "rounds.csv").back().at("virtual_s");
        };
        const std::string two_epochs = simulated({"strategy.option=2", "training.local_epochs=2"});
        CHECK(simulated({"strategy.option=1", "training.local_epochs=1"}) == two_epochs);
        CHECK(simulated({"strategy.option=2", "training.local_epochs=1"}) != two_epochs);
    }

    TEST_CASE("SameBitsForAnyNumberOfWorkersAndAfterAResumeAndReplayed") {
        for (const auto& [engine, option] : {std::pair{"direct", 2}, {"direct", 1}, {"libtorch", 2}, {"libtorch", 1}}) {
            CAPTURE(engine);
            CAPTURE(option);
            const Options by{std::string("training.engine=") + engine, "strategy.option=" + std::to_string(option)};
            Finished run(set(plus(by + Options{"workers=3"})));
            const std::string of_three = run.manifest()["model_sha256"];
            for (const char* workers : {"workers=1", "workers=2", "workers=4"})
                CHECK_MESSAGE(sha_with(plus(by + Options{workers, "rounds=3"})) == of_three, workers);
            const std::string of_five = sha_with(plus(by + Options{"workers=0", "rounds=5"}));
            REQUIRE_MESSAGE(run.resume(set({"rounds=5", "workers=1"})) == "exited with status 0", run.output());
            CHECK(run.manifest()["model_sha256"] == of_five);
            const auto rows = read_csv(run.out() / "clients.csv");
            const auto& last = rows.back();
            CHECK(last.at("round") == "5");
            FedhiveRun again;
            again.start({"replay", run.out().string(), "--round", "5", "--client", last.at("client_id")});
            CHECK_MESSAGE(again.end() == "exited with status 0", again.output());
            CHECK_MESSAGE(again.output().find(": the same bits as in the run\n") != std::string::npos, again.output());
        }
    }

    TEST_CASE("ControlIsTheMeanOfWhatClientsKeepWhateverGoesWrong") {
        for (const char* option : {"strategy.option=2", "strategy.option=1"}) {
            CAPTURE(option);
            const Options all{"rounds=6", "checkpoint.every=1", "checkpoint.keep=10", option};
            const std::string faults =
                "faults=[{kind: drop, rate: 0.2}, {kind: kill, round: 2, rate: 0.3}, {kind: nan, round: 3, rate: 0.3}, "
                "{kind: throw, round: 4, rate: 0.3}]";
            FedhiveRun run(small_config(), set(plus(all) + Options{faults, "failures={policy: drop}", "workers=2"}));
            REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
            std::size_t before = 0;
            for (std::int64_t round = 1; round <= 6; ++round) {
                CAPTURE(round);
                const std::size_t keepers = control_is_the_mean_of_what_clients_keep(run.out(), round);
                CHECK(keepers >= before);
                before = keepers;
            }
            std::set<std::string> accepted;
            std::size_t lost = 0;
            for (const auto& row : read_csv(run.out() / "clients.csv"))
                row.at("failure").empty() ? static_cast<void>(accepted.insert(row.at("client_id"))) : static_cast<void>(++lost);
            CHECK(before == accepted.size());
            CHECK(lost >= 4);
            // After the resume, other clients are dropped, and others have their first round.
            run.start({"run", "--resume", run.out().string(), "--set", "rounds=9", "--set", "workers=3"});
            REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
            for (const std::int64_t round : {7, 8, 9}) {
                CAPTURE(round);
                const std::size_t keepers = control_is_the_mean_of_what_clients_keep(run.out(), round);
                CHECK(keepers >= before);
                before = keepers;
            }
            // A client that is killed and retried ends with the same state.
            FedhiveRun whole(small_config(), set(plus(all)));
            REQUIRE(whole.end() == "exited with status 0");
            FedhiveRun retried(small_config(), set(plus(all) + Options{"faults=[{kind: kill, rate: 0.15}]",
                                                                       "failures={policy: retry, attempts: 9}"}));
            REQUIRE_MESSAGE(retried.end() == "exited with status 0", retried.output());
            CHECK(retried.manifest()["model_sha256"] == whole.manifest()["model_sha256"]);
            CHECK(control_is_the_mean_of_what_clients_keep(retried.out(), 6) ==
                  control_is_the_mean_of_what_clients_keep(whole.out(), 6));
        }
    }

    TEST_CASE("StateThatDoesNotFitIsRefusedAndOneWithALostClientIsNotTaken") {
        Finished run(set(plus({"checkpoint.keep=10"})));
        const std::filesystem::path file = sim::checkpoint_path(run.out(), 3);
        const std::string whole = read_text(file);
        const auto write = [&](const std::string& from, const std::string& to) {
            std::string changed = whole;
            REQUIRE(changed.find(from) != std::string::npos);
            changed.replace(changed.find(from), from.size(), to);
            std::ofstream(file, std::ios::binary) << with_right_hash(changed);
        };
        // States of too many clients, and of another model.
        write("\"client.1", "\"client.9");
        run.refuses(set({"rounds=5"}), {file.string() + ": 'client.9"});
        write("\"client.", "\"cliemt.");
        const std::string of_five = sha_with(plus({"rounds=5"}));
        REQUIRE_MESSAGE(run.resume(set({"rounds=5"})) == "exited with status 0", run.output());
        CHECK_MESSAGE(run.said("after round 2 of 5"), run.output());
        CHECK(run.manifest()["model_sha256"] == of_five);
    }

    TEST_CASE("WhatComesLateIsForgotten") {
        // Over-selection on the virtual clock: clients left behind keep their old state.
        FedhiveRun run(small_config(), set(plus({"mode={name: synchronous, quorum: 3}", "rounds=5", "checkpoint.every=1"})));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        control_is_the_mean_of_what_clients_keep(run.out(), 5);
    }

    TEST_CASE("WhatItDoesNotGoWithIsRefused") {
        const auto refused = [](const Options& more, const std::string& text) {
            FedhiveRun run(small_config(), set(plus(more)));
            CHECK(run.end() == "exited with status 2");
            CHECK_MESSAGE(run.output().find(text) != std::string::npos, run.output());
            CHECK_FALSE(std::filesystem::exists(run.out()));
        };
        refused({"strategy.option=2", "training.optimizer.momentum=0.9"}, "training.optimizer.momentum:");
        refused({"strategy.option=2", "training.optimizer={name: adam}"}, "training.optimizer.name:");
        CHECK(sha_with(plus({"strategy.option=1", "training.optimizer={name: adam}"})) ==
              sha_with(plus({"training.optimizer={name: adam}"})));
        refused({"strategy={local: scaffold}"}, "strategy.weighting:");
        refused({"training.clients_per_slot=4"}, "training.clients_per_slot:");
        refused({"strategy.weighting=examples"}, "strategy.weighting:");
        refused({"strategy.aggregator=median"}, "strategy.aggregator:");
        refused({"mode={name: async}"}, "mode.name:");
        refused({"model={name: mlp, hidden: 3000}", "data.partition={scheme: iid, clients: 10000}", "data.num_train=10000",
                 "rounds=3000"},
                "strategy.name: strategy 'scaffold' stores ");
    }

    TEST_CASE("WhatClientsKeepHasToFitOnce") {
        FedhiveRun planned(small_config(), set(plus({"rounds=2"})));
        REQUIRE_MESSAGE(planned.end() == "exited with status 0", planned.output());
        CHECK_MESSAGE(planned.output().find(" · client state up to ") != std::string::npos, planned.output());
        // At least 3000 x 64 weights each; more clients than fit into memory.
        constexpr std::uint64_t kLeast = 3000 * 64 * sizeof(float);
        const std::uint64_t clients = aggregation::available_memory_bytes() / kLeast;
        FedhiveRun run(small_config(), set(plus({"model={name: mlp, hidden: 3000}", "data.num_features=64",
                                                 fmt::format("data.partition={{scheme: iid, clients: {}}}", clients),
                                                 fmt::format("data.num_train={}", clients), "rounds=1000000"})));
        CHECK(run.end() == "exited with status 2");
        CHECK_MESSAGE(run.output().find("strategy.name: strategy 'scaffold' stores ") != std::string::npos, run.output());
        CHECK(run.output().find("twice") == std::string::npos);
    }
}
