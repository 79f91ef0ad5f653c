// DP-FTRL in the real program: the tree's noise in the model, its bits in any worker, after failures and a resume, and its ε.
#include "sim/privacy/accountant.h"
#include "tests/process/csv_rows.h"
#include "tests/process/finished_run.h"
#include "tests/process/model_after.h"
#include "tests/process/rank_runs.h"
#include "tests/support/statistics.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

/// 13 clients, 4 of them in a round: trees of up to 3 rounds.
Options dp_ftrl(const std::string& keys, const Options& more = {}) {
    return Options{"strategy={name: dp_ftrl, " + keys + "}", "upload=[{name: clip, norm: 0.3}]", "training.cohort=4",
                   "sampling={name: round_robin}"} +
           more;
}

std::vector<std::string> epsilons_of_trees(const std::filesystem::path& run) {
    std::vector<std::string> cells;
    for (const auto& row : read_csv(run / "rounds.csv")) cells.push_back(row.at("epsilon"));
    return cells;
}

}  // namespace

TEST_SUITE("DpFtrl") {
    TEST_CASE("SameBitsForAnyNumberOfWorkersAfterFailuresAndAResumeWithinATree") {
        const Options options = dp_ftrl("noise_multiplier: 0.4, server_momentum: 0.5, restart_every: 4");
        Finished run(set(options + Options{"workers=3", "training.clients_per_slot=4"}));
        const std::string of_seven = sha_with(options + Options{"workers=1", "rounds=7"});
        REQUIRE_MESSAGE(run.resume(set({"rounds=7", "workers=1"})) == "exited with status 0", run.output());
        CHECK(run.manifest()["model_sha256"] == of_seven);
        CHECK(sha_with(options + Options{"rounds=7", "faults=[{kind: kill, rate: 0.2}]",
                                         "failures={policy: retry, attempts: 9}"}) == of_seven);
        CHECK(sha_with(options + Options{"rounds=7", "seeds={training: 2}"}) != of_seven);
        CHECK(sha_with(options + Options{"rounds=7", "strategy.restart_every=5"}) != of_seven);
    }

    TEST_CASE("SameBitsOverRanks") {
        FEDHIVE_NEEDS_RANKS();
        const Options options = set(dp_ftrl("noise_multiplier: 0.4", {"rounds=5"}));
        FedhiveRun whole(small_config(), options);
        REQUIRE_MESSAGE(whole.end() == "exited with status 0", whole.output());
        RankedRun run(2, small_config(), options);
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        check_same_run(run.out(), whole.out());
    }

    TEST_CASE("WithoutNoiseItIsFedAvgAndMomentumBeginsWithATree") {
        const auto with = [](const std::string& strategy) {
            return sha_with(dp_ftrl("noise_multiplier: 1", {"rounds=4", "strategy={" + strategy + "}"}));
        };
        const std::string quiet = "name: dp_ftrl, noise_multiplier: 1e-30, ";
        CHECK(with(quiet + "server_lr: 0.5") == with("name: fedavg, weighting: uniform, server_lr: 0.5"));
        CHECK(with(quiet + "server_momentum: 0.5, restart_every: 4") ==
              with("name: fedavgm, weighting: uniform, server_momentum: 0.5"));
        CHECK(with(quiet + "server_momentum: 0.5, restart_every: 1") == with("name: fedavg, weighting: uniform"));
        CHECK(with(quiet + "server_momentum: 0.5, restart_every: 2") != with(quiet + "server_momentum: 0.5, restart_every: 4"));
    }

    TEST_CASE("ModelHasTheNoiseOfThePrefix") {
        FedhiveRun run(small_config(),
                       set(dp_ftrl("noise_multiplier: 2, restart_every: 4", {"rounds=5", "checkpoint={every: 1, keep: 100}",
                                                                             "training.optimizer={name: sgd, lr: 1.0e-30}"})));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        const std::vector<double> first = model_after(run.out(), 1);
        // Nodes by which the prefix differs from that of one round; independent noise would give 1, 2, 3, 4.
        for (const auto& [round, nodes] : {std::pair(2, 2.0), std::pair(3, 3.0), std::pair(4, 2.0), std::pair(5, 3.0)}) {
            CAPTURE(round);
            std::vector<double> moved = model_after(run.out(), round);
            for (std::size_t i = 0; i < moved.size(); ++i) moved[i] -= first[i];
            CHECK(distance_from_normal(moved, 0.0, std::sqrt(nodes) * 2.0 * 0.3 / 4.0) < kolmogorov_bound(moved.size()));
        }
    }

    TEST_CASE("EpsilonIsThatOfTheTreesSoFar") {
        const sim::PrivacyAccountant accountant({1.0, 1.5}, 1e-3);
        std::vector<std::string> expected;
        for (const std::uint64_t nodes : {1, 2, 2, 3, 4, 4, 5})
            expected.push_back(fmt::format("{:.6f}", accountant.epsilon(nodes)));
        FedhiveRun run(small_config(), set(dp_ftrl("noise_multiplier: 1.5", {"rounds=7", "privacy={delta: 1e-3}"})));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        CHECK(epsilons_of_trees(run.out()) == expected);
        CHECK_MESSAGE(run.output().find(fmt::format("ε {:.4f} after 7 rounds at δ 0.001 · multiplier 1.5 · trees of 3 rounds",
                                                    accountant.epsilon(5))) != std::string::npos,
                      run.output());
        CHECK(read_text(run.out() / "config.yaml").find("restart_every: 3") != std::string::npos);
    }

    TEST_CASE("NoiseFollowsFromTheEpsilon") {
        FedhiveRun run(small_config(), set(dp_ftrl("server_lr: 1", {"rounds=7", "privacy={epsilon: 6, delta: 1e-3}"})));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        const double multiplier = sim::multiplier_for(6.0, 1e-3, 1.0, 5).value();
        CHECK_MESSAGE(
            read_text(run.out() / "config.yaml").find(fmt::format("noise_multiplier: {},", multiplier)) != std::string::npos,
            read_text(run.out() / "config.yaml"));
        CHECK(std::stod(epsilons_of_trees(run.out()).back()) <= 6.0);
        FedhiveRun command;
        command.start({"privacy", (run.out() / "config.yaml").string()});
        CHECK(command.end() == "exited with status 0");
        CHECK_MESSAGE(
            command.output().find(fmt::format("epsilon      {:.4f}  by RDP",
                                              sim::PrivacyAccountant({1.0, multiplier}, 1e-3).epsilon(5))) != std::string::npos,
            command.output());
    }

    TEST_CASE("RoundWithoutAServerStepCostsNothingOfItsOwn") {
        FedhiveRun run(small_config(), set(dp_ftrl("noise_multiplier: 1.5", {"rounds=4", "privacy={delta: 1e-3}",
                                                                             "failures={policy: drop, min_updates: 4}",
                                                                             "faults=[{kind: throw, round: 3}]"})));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        REQUIRE(read_csv(run.out() / "rounds.csv")[2].at("version") == "2");
        const sim::PrivacyAccountant accountant({1.0, 1.5}, 1e-3);
        std::vector<std::string> expected;
        for (const std::uint64_t nodes : {1, 2, 2, 3}) expected.push_back(fmt::format("{:.6f}", accountant.epsilon(nodes)));
        CHECK(epsilons_of_trees(run.out()) == expected);
    }
}
