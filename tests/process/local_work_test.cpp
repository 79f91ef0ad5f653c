// Local work in a round: optimisers, steps, schedules, clipping, from the config to the tables; the same bits
// for any number of workers.
#include "tests/process/finished_run.h"

#include <doctest/doctest.h>

#include <set>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

Options adam(const std::string& engine = "auto") {
    return {"training.optimizer={name: adam, lr: 0.003}",
            "training.lr_schedule={name: cosine, over: 4, warmup_rounds: 1}",
            "training.clip_norm=0.5",
            "training.local_steps=3",
            "training.local_epochs=null",
            "training.engine=" + engine};
}

}  // namespace

TEST_SUITE("LocalWork") {
    TEST_CASE("SameBitsForAnyNumberOfWorkersAndAfterAResume") {
        for (const char* engine : {"direct", "libtorch"}) {
            CAPTURE(engine);
            Finished run(set(adam(engine) + Options{"workers=3"}));
            for (const auto& row : read_csv(run.out() / "clients.csv")) CHECK(row.at("steps") == "3");
            const std::string of_four = sha_with(adam(engine) + Options{"workers=0", "rounds=4"});
            REQUIRE_MESSAGE(run.resume(set({"rounds=4", "workers=1"})) == "exited with status 0", run.output());
            CHECK(run.manifest()["model_sha256"] == of_four);
            FedhiveRun again;
            const auto rows = read_csv(run.out() / "clients.csv");
            again.start(
                {"replay", run.out().string(), "--round", "3", "--client", rows.at(2 * rows.size() / 4).at("client_id")});
            CHECK_MESSAGE(again.end() == "exited with status 0", again.output());
            CHECK_MESSAGE(again.output().find(": the same bits as in the run\n") != std::string::npos, again.output());
        }
    }

    TEST_CASE("EachKeyChangesWhatIsTrained") {
        std::set<std::string> bits{sha_with({})};
        for (const char* one : {"training.optimizer={name: adam, lr: 0.003}", "training.optimizer={name: adamw, lr: 0.003}",
                                "training.optimizer={name: adagrad, lr: 0.03}", "training.lr_schedule={name: step, gamma: 0.5}",
                                "training.lr_schedule={name: cosine, over: 3}", "training.lr_schedule={warmup_rounds: 2}",
                                "training.clip_norm=0.1", "training.local_epochs=2"}) {
            CAPTURE(one);
            CHECK(bits.insert(sha_with({one})).second);
        }
    }

    TEST_CASE("WhatIsClippedIsTheGradientWithAllThatAStrategyAddsToIt") {
        const Options clipped{"training.optimizer={name: sgd, lr: 2}",
                              "training.local_epochs=null",
                              "training.local_steps=4",
                              "training.clip_norm=0.05",
                              "rounds=8",
                              "data.partition={scheme: dirichlet, clients: 13, alpha: 0.05, min_examples: 2}"};
        for (const char* strategy :
             {"{name: fedprox, proximal_mu: 2}", "{name: scaffold}", "{name: scaffold, option: 1}", "{name: feddyn, alpha: 1}"})
            for (const char* engine : {"direct", "libtorch"}) {
                CAPTURE(strategy);
                CAPTURE(engine);
                FedhiveRun run(small_config(), set(clipped + Options{std::string("strategy=") + strategy,
                                                                     std::string("training.engine=") + engine}));
                REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
                double longest = 0.0;
                for (const auto& row : read_csv(run.out() / "clients.csv"))
                    longest = std::max(longest, std::stod(row.at("update_norm")));
                CHECK(longest < 4 * 2 * 0.05 * (1 + 1e-4));
                CHECK(longest > 0.1);
            }
    }

    TEST_CASE("ClientsTrainedAtOnceAreClippedEachByItself") {
        const auto norms = [](const Options& more) {
            Finished run(set(Options{"model={name: mlp}", "training.clients_per_slot=4"} + more));
            std::vector<double> of_clients;
            for (const auto& row : read_csv(run.out() / "clients.csv")) of_clients.push_back(std::stod(row.at("update_norm")));
            return of_clients;
        };
        const Options clipped{"training.clip_norm=0.1", "training.engine=libtorch"}, at_once{"training.clients_at_once=4"};
        const auto alone = norms(clipped), together = norms(clipped + at_once), free = norms(at_once);
        REQUIRE(together.size() == alone.size());
        for (std::size_t i = 0; i < alone.size(); ++i) {
            CHECK(together[i] == doctest::Approx(alone[i]).epsilon(1e-3));
            CHECK(together[i] < 0.9 * free[i]);
        }
        CHECK(sha_with(clipped + at_once + Options{"training.clients_per_slot=4", "workers=0"}) ==
              sha_with(clipped + at_once + Options{"training.clients_per_slot=4", "workers=3"}));
    }

    TEST_CASE("EveryModeThatTakesAScheduleFollowsIt") {
        for (const char* mode : {"{name: semi_async, quorum: 2}", "{name: async}", "{name: gradient_averaging}",
                                 "{name: hogwild}", "{name: split, cut: fc1}"}) {
            CAPTURE(mode);
            const Options common{"model={name: mlp}",
                                 "training.cohort=4",
                                 "data.partition={clients: 4}",
                                 "mode=" + std::string(mode),
                                 "rounds=6",
                                 "workers=" + std::string(std::string(mode).find("hogwild") != std::string::npos ? "1" : "4")};
            CHECK(sha_with(common) != sha_with(common + Options{"training.lr_schedule={name: step, gamma: 0.5}"}));
        }
    }
}
