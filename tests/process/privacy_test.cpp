// The accountant in the real program: the column of rounds.csv, the noise for an ε, and `fedhive privacy`.
#include "sim/privacy/accountant.h"
#include "tests/process/csv_rows.h"
#include "tests/process/finished_run.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

/// small_config() with noise: 11 of 13 clients in a round.
Options noisy(const std::string& privacy, const std::string& multiplier = ", multiplier: 1.5") {
    return {"privacy=" + privacy, "strategy={name: fedavg, weighting: uniform}",
            "upload=[{name: clip, norm: 0.5}, {name: gaussian_noise" + multiplier + "}]"};
}

std::vector<std::string> epsilons(const std::filesystem::path& run) {
    std::vector<std::string> cells;
    for (const auto& row : read_csv(run / "rounds.csv")) cells.push_back(row.at("epsilon"));
    return cells;
}

/// As rounds.csv has them.
std::vector<std::string> expected(double multiplier, double delta, const std::vector<std::uint64_t>& steps) {
    const sim::PrivacyAccountant accountant({11.0 / 13.0, multiplier}, delta);
    std::vector<std::string> cells;
    for (const std::uint64_t count : steps) cells.push_back(fmt::format("{:.6f}", accountant.epsilon(count)));
    return cells;
}

/// What `fedhive privacy` prints.
std::string privacy_says(FedhiveRun& run, const Options& arguments, const std::string& end = "exited with status 0") {
    std::ofstream(run.folder() / "test.yaml") << small_config();
    std::filesystem::remove(run.folder() / "output");
    run.start(Options{"privacy"} + arguments);
    CHECK_MESSAGE(run.end() == end, run.output());
    return run.output();
}

}  // namespace

TEST_SUITE("Privacy") {
    TEST_CASE("ColumnIsTheSameForAnyNumberOfWorkersAndAfterAResume") {
        const Options chain = noisy("{delta: 1e-3}");
        const auto wanted = expected(1.5, 1e-3, {1, 2, 3, 4, 5});
        for (const char* workers : {"workers=1", "workers=3"}) {
            FedhiveRun run(small_config(), set(chain + Options{"rounds=5", workers}));
            REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
            CHECK(epsilons(run.out()) == wanted);
        }
        Finished run(set(chain + Options{"workers=1"}));
        CHECK(read_lines(run.out() / "rounds.csv").front().ends_with(",epsilon"));
        REQUIRE_MESSAGE(run.resume(set({"rounds=5", "workers=3"})) == "exited with status 0", run.output());
        CHECK(epsilons(run.out()) == wanted);
        run.refuses(set({"rounds=6", "privacy.delta=1e-4"}), {"privacy.delta: 0.001 -> 0.0001"});
    }

    TEST_CASE("OnlyServerStepsCost") {
        FedhiveRun run(small_config(),
                       set(noisy("{delta: 1e-3}") + Options{"rounds=4", "failures={policy: drop, min_updates: 11}",
                                                            "faults=[{kind: throw, round: 2, client: 3}, {kind: "
                                                            "throw, round: 2, client: 4}, {kind: throw, round: "
                                                            "2, client: 5}]"}));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        REQUIRE(read_csv(run.out() / "rounds.csv")[1].at("version") ==
                "1");  // one of the three was asked, so there was no step
        CHECK(epsilons(run.out()) == expected(1.5, 1e-3, {1, 1, 2, 3}));
    }

    TEST_CASE("NoiseFollowsFromTheEpsilonAndIsKept") {
        Finished run(set(noisy("{epsilon: 6, delta: 1e-3}", "")));
        const double multiplier = sim::multiplier_for(6.0, 1e-3, 11.0 / 13.0, 3).value();
        CHECK_MESSAGE(
            read_text(run.out() / "config.yaml").find(fmt::format("multiplier: {}}}", multiplier)) != std::string::npos,
            read_text(run.out() / "config.yaml"));
        CHECK_MESSAGE(run.said(fmt::format(" after 3 rounds at δ 0.001 · multiplier {} · ", multiplier)), run.output());
        CHECK(epsilons(run.out()) == expected(multiplier, 1e-3, {1, 2, 3}));
        CHECK(std::stod(epsilons(run.out()).back()) <= 6.0);
        const std::string by_hand = sha_with(noisy("{delta: 1e-3}", fmt::format(", multiplier: {}", multiplier)));
        CHECK(run.manifest()["model_sha256"] == by_hand);
        CHECK(by_hand != sha_with(noisy("{delta: 1e-3}")));
        run.refuses(set({"rounds=4"}), {"privacy.epsilon: 6 is less than the ε after 4 rounds: "});
    }

    TEST_CASE("WithoutPrivacyThereIsNoColumn") {
        FedhiveRun run(small_config(), set({noisy("")[1], noisy("")[2], "rounds=1"}));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        CHECK(read_lines(run.out() / "rounds.csv").front().find("epsilon") == std::string::npos);
    }

    TEST_CASE("LargeDeltaIsWarnedOf") {
        FedhiveRun run(small_config(), set(noisy("{delta: 0.08}") + Options{"rounds=1"}));
        REQUIRE(run.end() == "exited with status 0");
        CHECK_MESSAGE(run.output().find("privacy.delta: 0.08 is not below 1 / clients = 0.0769") != std::string::npos,
                      run.output());
        CHECK(run.manifest()["warnings"].dump().find("privacy.delta") != std::string::npos);
        FedhiveRun smaller(small_config(), set(noisy("{delta: 0.07}") + Options{"rounds=1"}));
        REQUIRE(smaller.end() == "exited with status 0");
        CHECK(smaller.output().find("privacy.delta") == std::string::npos);
    }

    TEST_CASE("CommandSaysWhatARunWouldSay") {
        FedhiveRun run;
        const std::string config = (run.folder() / "test.yaml").string();
        const std::string said = privacy_says(run, Options{config} + set(noisy("{delta: 1e-3}")));
        const std::string epsilon =
            fmt::format("epsilon      {:.4f}  by RDP", sim::PrivacyAccountant({11.0 / 13.0, 1.5}, 1e-3).epsilon(3));
        CHECK_MESSAGE(said.find(epsilon) != std::string::npos, said);
        CHECK_MESSAGE(privacy_says(run, {"--multiplier", "1.5", "--share", fmt::format("{}", 11.0 / 13.0), "--rounds", "3",
                                         "--delta", "1e-3"})
                              .find(epsilon) != std::string::npos,
                      run.output());
        const std::string least =
            fmt::format("multiplier   {}  the least for epsilon 6\n", sim::multiplier_for(6.0, 1e-3, 11.0 / 13.0, 3).value());
        CHECK_MESSAGE(
            privacy_says(run, Options{config, "--epsilon", "6"} + set(noisy("{delta: 1e-3}"))).find(least) != std::string::npos,
            run.output());
    }

    TEST_CASE("CommandRefusesWhatItCannotAnswer") {
        FedhiveRun run;
        const auto refused = [&](const Options& arguments, const std::string& text) {
            const std::string said = privacy_says(run, arguments, "exited with status 2");
            CHECK_MESSAGE(said.find(text) != std::string::npos, said);
        };
        const Options all{"--share", "0.1", "--rounds", "10", "--delta", "1e-5"};
        refused(all, "--multiplier or --epsilon is missing");
        refused(all + Options{"--multiplier", "0.001"}, "--multiplier: 0.001 is not allowed; expected a number 0.01 to");
        refused(all + Options{"--multiplier", "1", "--epsilon", "1"}, "excludes");
        refused(all + Options{"--epsilon", "1e-9"}, "--epsilon: 1e-09 is less than the ε with any noise");
        refused({"--multiplier", "1", "--rounds", "10", "--delta", "1e-5"}, "--share is missing");
        refused({"--multiplier", "1", "--rounds", "10", "--share", "2", "--delta", "1e-5"}, "--share: 2 is not allowed");
        refused({(run.folder() / "test.yaml").string()}, "privacy.delta: is missing");
    }
}
