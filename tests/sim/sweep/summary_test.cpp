#include "sim/sweep/summary.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <sstream>

using namespace fedhive::sim;

namespace {

nlohmann::ordered_json run_of(const std::string& id, const std::string& status, const std::string& lr, int seed,
                              const std::string& reason = "") {
    return {{"id", id},         {"status", status},
            {"reason", reason}, {"seed", seed},
            {"workers", 1},     {"settings", {{"training.optimizer.lr", lr}, {"data.partition.sizes", "[0.5, 0.5]"}}},
            {"attempts", 1},    {"cpu_s", 1.5},
            {"rounds", 10},     {"peak_bytes", 1000}};
}

nlohmann::ordered_json record_of_sweep(const std::vector<nlohmann::ordered_json>& runs) {
    return {{"name", "two_rates"},
            {"keys", {"training.optimizer.lr", "data.partition.sizes"}},
            {"target_accuracy", 0.9},
            {"exit_status", "finished"},
            {"jobs", 2},
            {"runs", runs}};
}

RunResult result_of(double accuracy, std::optional<std::int64_t> to_target = std::nullopt) {
    RunResult result;
    result.rounds = 5;
    result.version = 5;
    result.final_loss = 1.0 - accuracy;
    result.final_quality = accuracy;
    result.best_quality = accuracy;
    result.best_round = 4;
    result.rounds_to_target = to_target;
    result.model_sha256 = "00ff";
    result.wall_s = 2.0;
    result.failures = 3;
    return result;
}

std::string line(const std::string& text, std::size_t index) {
    std::istringstream stream(text);
    std::string found;
    for (std::size_t i = 0; i <= index; ++i) std::getline(stream, found);
    return found;
}

std::string markdown(const nlohmann::ordered_json& sweep, const std::vector<RunResult>& results) {
    return summary_markdown(sweep, results, "results/small");
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_SUITE("Summary") {
    TEST_CASE("CsvHasARowForEachRunWithWhatDependsOnTimeAtItsEnd") {
        const auto sweep =
            record_of_sweep({run_of("a", "finished", "0.1", 1), run_of("b", "failed", "0.2", 1, "worker 0 died, \"oom\"")});
        const std::string text = summary_csv(sweep, {result_of(0.95, 3), RunResult{}});
        CHECK(line(text, 0) ==
              "run,status,training.optimizer.lr,data.partition.sizes,seed,rounds_done,version,final_test_loss,final_test_"
              "accuracy,"
              "best_test_accuracy,best_round,rounds_to_target,failed,bytes_down,bytes_up,virtual_s,model_sha256,wall_s,cpu_s,"
              "peak_bytes,workers_used,attempts,failures,reason,case,client_accuracy_mean,client_accuracy_std,"
              "client_accuracy_worst_10,personalized_accuracy_mean,personalized_accuracy_std,personalized_accuracy_worst_10,"
              "client_accuracy_best_10,personalized_accuracy_best_10");
        CHECK(line(text, 1) ==
              "a,finished,0.1,\"[0.5, 0.5]\",1,5,5,0.050000000000000044,0.95,0.95,4,3,0,0,0,,00ff,2,1.5,1000,1,1,3,,,,,,,,,,");
        CHECK(line(text, 2) ==
              "b,failed,0.2,\"[0.5, 0.5]\",1,0,,,,,,,0,0,0,,,,1.5,1000,1,1,,\"worker 0 died, \"\"oom\"\"\",,,,,,,,,");
    }

    TEST_CASE("MarkdownGivesMeanAndIntervalOverTheSeedsOfASetting") {
        const auto sweep = record_of_sweep(
            {run_of("a", "finished", "0.1", 1), run_of("b", "finished", "0.1", 2), run_of("c", "finished", "0.2", 1)});
        const std::string text = markdown(sweep, {result_of(0.90, 3), result_of(0.92), result_of(0.5)});
        // 0.91 ± 12.7062 · 0.01
        CHECK(holds(text, "| 0.1 | [0.5, 0.5] | 2 | 0.91 ± 0.13 | 0.91 ± 0.13 | 0.09 ± 0.13 | 3.0 (1 of 2) | 2.0 ± 0 |"));
        CHECK(holds(text, "| 0.2 | [0.5, 0.5] | 1 | 0.5000 | 0.5000 | 0.5000 | – | 2.0 |"));
        CHECK(holds(text, "rounds to 0.9"));
        CHECK_FALSE(holds(text, "Not finished"));
    }

    TEST_CASE("ClientsOwnAccuraciesHaveColumnsWhereSomebodyEvaluatedThem") {
        const auto sweep = record_of_sweep({run_of("a", "finished", "0.1", 1), run_of("b", "finished", "0.2", 1)});
        RunResult evaluated = result_of(0.9);
        evaluated.global = {0.75, 0.125, 0.25, 1.0};
        CHECK_FALSE(holds(markdown(sweep, {result_of(0.9), result_of(0.5)}), "worst 10 %"));
        const std::string text = markdown(sweep, {evaluated, result_of(0.5)});
        CHECK(holds(text, "| final loss | rounds to 0.9 | clients' accuracy | worst 10 % of clients | wall s |"));
        CHECK(holds(text, "| – | 0.7500 | 0.2500 | 2.0 |"));
        CHECK_FALSE(holds(text, "personalized"));
        CHECK(line(summary_csv(sweep, {evaluated, result_of(0.5)}), 1).ends_with(",0.75,0.125,0.25,,,,1,"));
        evaluated.personalized = {0.875, 0.0625, 0.5, 0.9375};
        CHECK(holds(markdown(sweep, {evaluated, evaluated}), "| 0.7500 | 0.2500 | 0.8750 | 0.5000 |"));
        CHECK(line(summary_csv(sweep, {evaluated, evaluated}), 1).ends_with(",0.75,0.125,0.25,0.875,0.0625,0.5,1,0.9375"));
    }

    TEST_CASE("CaseIsToldByItsName") {
        auto sweep = record_of_sweep({run_of("a", "finished", "0.1", 1), run_of("b", "finished", "0.2", 1)});
        CHECK_FALSE(holds(markdown(sweep, {result_of(0.9), result_of(0.5)}), "case"));
        sweep["runs"][0]["case"] = "slow, but | sure";
        const std::string csv = summary_csv(sweep, {result_of(0.95, 3), result_of(0.5)});
        CHECK(holds(line(csv, 1), ",3,,\"slow, but | sure\",,,,,,"));
        CHECK(line(csv, 2).ends_with(",3,,,,,,,,,,"));
        const std::string text = markdown(sweep, {result_of(0.9), result_of(0.5)});
        CHECK(holds(text, "| `case` | `training.optimizer.lr` | `data.partition.sizes` | runs |"));
        CHECK(holds(text, "| slow, but \\| sure | 0.1 | [0.5, 0.5] | 1 | 0.9000 |"));
        CHECK(holds(text, "|  | 0.2 | [0.5, 0.5] | 1 | 0.5000 |"));
        sweep["runs"][1]["case"] = "fast";  // each case now has a name, which stands for the keys that it sets
        const std::string named = markdown(sweep, {result_of(0.9), result_of(0.5)});
        CHECK(holds(named, "| `case` | runs |"));
        CHECK(holds(named, "| slow, but \\| sure | 1 | 0.9000 |"));
        CHECK_FALSE(holds(named, "training.optimizer.lr"));
    }

    TEST_CASE("StrategiesThatWeighClientsOtherwiseAreNamed") {
        auto sweep = record_of_sweep({run_of("a", "finished", "0.1", 1), run_of("b", "finished", "0.2", 1)});
        const std::vector<RunResult> results{result_of(0.9), result_of(0.5)};
        sweep["keys"] = {"strategy.name"};
        sweep["runs"][0]["settings"] = {{"strategy.name", "fedavg"}};
        sweep["runs"][1]["settings"] = {{"strategy.name", "scaffold"}};
        CHECK_FALSE(holds(markdown(sweep, results), "Weights"));  // an earlier fedhive did not write it
        sweep["runs"][0]["weighting"] = "examples";
        sweep["runs"][1]["weighting"] = "examples";
        CHECK_FALSE(holds(markdown(sweep, results), "Weights"));
        sweep["runs"][1]["weighting"] = "uniform";
        CHECK(holds(markdown(sweep, results), " Weights: scaffold uniform; others by examples.\n"));
        sweep["runs"][0]["case"] = "FedAvg";
        sweep["runs"][1]["case"] = "SCAFFOLD";
        CHECK(holds(markdown(sweep, results), " Weights: SCAFFOLD uniform; others by examples.\n"));
        sweep["runs"][1]["case"] = sweep["runs"][0]["case"];
        CHECK(holds(markdown(sweep, results), "`strategy.weighting` in their configs"));
        sweep["keys"] = {"strategy.weighting"};  // a column shows it
        for (const int run : {0, 1}) sweep["runs"][run]["settings"]["strategy.weighting"] = sweep["runs"][run]["weighting"];
        CHECK_FALSE(holds(markdown(sweep, results), "weight clients equally"));
    }

    TEST_CASE("WhatHasNotFinishedIsNamedAndNotAveraged") {
        const auto sweep =
            record_of_sweep({run_of("a", "finished", "0.1", 1), run_of("b", "failed", "0.1", 2, "client 3 | exploded"),
                             run_of("c", "waiting", "0.2", 1)});
        const std::string text = markdown(sweep, {result_of(0.9), result_of(0.1), RunResult{}});
        CHECK(holds(text, "| 0.1 | [0.5, 0.5] | 1 of 2 | 0.9000 |"));
        CHECK(holds(text, "| 0.2 | [0.5, 0.5] | 0 of 1 | – |"));
        CHECK(holds(text, "- `b`: failed: client 3 \\| exploded"));
        CHECK(holds(text, "- `c`: waiting\n"));
    }

    TEST_CASE("InterruptedSweepSaysWhatIsDoneAndHowItGoesOn") {
        auto sweep = record_of_sweep(
            {run_of("a", "finished", "0.1", 1), run_of("b", "waiting", "0.1", 2), run_of("c", "waiting", "0.2", 1)});
        RunResult whole = result_of(0.9);
        whole.rounds = 10;
        const std::vector<RunResult> results{whole, result_of(0.5), RunResult{}};
        CHECK_FALSE(holds(markdown(sweep, results), "resume"));
        sweep["exit_status"] = "interrupted by SIGINT";
        const std::string text = markdown(sweep, results);
        CHECK(holds(text,
                    "interrupted by SIGINT: 1 of 3 runs have finished, 15 of 30 rounds are done. To resume: `fedhive sweep "
                    "--resume results/small`"));
        CHECK(holds(text, "- `b`: waiting; 5 of 10 rounds are done, accuracy 0.5000 so far\n"));
        CHECK(holds(text, "- `c`: waiting\n"));
    }

    TEST_CASE("WallTimesOfRunsSideBySideCompareNothing") {
        auto sweep = record_of_sweep({run_of("a", "finished", "0.1", 1), run_of("b", "finished", "0.1", 2)});
        CHECK(holds(markdown(sweep, {result_of(0.9), result_of(0.9)}), "wall s cannot be compared"));
        sweep["jobs"] = 1;
        CHECK_FALSE(holds(markdown(sweep, {result_of(0.9), result_of(0.9)}), "wall s cannot be compared"));
    }

    TEST_CASE("RunsThatShareTheirSeedsAreComparedInPairs") {
        // Seeds differ by more than the rates do: differences 0.0625, 0.0625 and 0.125.
        auto sweep = record_of_sweep({run_of("a1", "finished", "0.1", 1), run_of("a2", "finished", "0.1", 2),
                                      run_of("a3", "finished", "0.1", 3), run_of("b3", "finished", "0.2", 3),
                                      run_of("b1", "finished", "0.2", 1), run_of("b2", "finished", "0.2", 2),
                                      run_of("b4", "finished", "0.2", 4), run_of("c1", "finished", "0.3", 1)});
        const std::vector<RunResult> results{result_of(0.25),   result_of(0.5),    result_of(0.75), result_of(0.875),
                                             result_of(0.3125), result_of(0.5625), result_of(0.0),  result_of(0.5)};
        const std::string text = markdown(sweep, results);
        CHECK(holds(text, "## Differences to `training.optimizer.lr` 0.1, `data.partition.sizes` [0.5, 0.5]\n"));
        // 0.08333 ± 4.30265 · 0.036084 / √3
        CHECK_MESSAGE(holds(text, "| 0.2 | [0.5, 0.5] | 3 | +0.083 ± 0.090 | +0.083 ± 0.090 | -0.083 ± 0.090 | – |"), text);
        CHECK(holds(text, "| 0.3 | [0.5, 0.5] | 1 | +0.2500 |"));
        sweep["runs"][1]["status"] = "failed";
        CHECK(holds(markdown(sweep, results), "| 0.2 | [0.5, 0.5] | 2 | +0.09 ± 0.40 |"));
        sweep["runs"][2]["status"] = "failed";
        CHECK_FALSE(holds(markdown(sweep, results), "Differences"));
    }

    TEST_CASE("SeedsThatVaryMakeNoGroupsAndPartPairs") {
        auto sweep = record_of_sweep({run_of("a1", "finished", "0.1", 1), run_of("a2", "finished", "0.1", 1),
                                      run_of("b1", "finished", "0.2", 1), run_of("b2", "finished", "0.2", 1)});
        sweep["keys"].push_back("seeds.model");
        for (int run = 0; run < 4; ++run) sweep["runs"][run]["settings"]["seeds.model"] = run % 2 == 0 ? "7" : "8";
        const std::string text = markdown(sweep, {result_of(0.5), result_of(0.75), result_of(0.625), result_of(0.875)});
        CHECK_FALSE(holds(text, "seeds.model"));
        CHECK(holds(text, "| 0.1 | [0.5, 0.5] | 2 | "));
        CHECK_MESSAGE(holds(text, "| 0.2 | [0.5, 0.5] | 2 | +0.1250 ± 0 |"), text);
    }

    TEST_CASE("SettingsThatDifferInOneKeyAreCompared") {
        std::vector<nlohmann::ordered_json> runs;
        for (const char* id : {"a1", "a2", "b1", "b2", "c1", "c2"})
            runs.push_back(run_of(id, "finished", id[0] == 'a' ? "0.1" : "0.2", id[1] - '0'));
        for (const std::size_t run : {2, 3}) runs[run]["settings"]["data.partition.sizes"] = "";     // does not apply
        for (const std::size_t run : {4, 5}) runs[run]["settings"]["data.partition.sizes"] = "[1]";  // differs, too
        const std::string text = markdown(record_of_sweep(runs), std::vector<RunResult>(6, result_of(0.5)));
        const std::string differences = text.substr(text.find("## Differences"));
        CHECK_MESSAGE(holds(differences, "| 0.2 |  | 2 | 0.0000 ± 0 |"), text);
        CHECK_FALSE(holds(differences, "[1]"));
        CHECK(holds(differences, "over the pairs. One setting that differs in more than one key is not shown."));
    }

    TEST_CASE("WhatBelongsToAStrategyGoesWithIt") {
        std::vector<nlohmann::ordered_json> runs;
        const auto add = [&](const char* strategy, const char* rate) {
            for (const int seed : {1, 2}) {
                runs.push_back(run_of(fmt::format("{}{}{}", strategy, rate, seed), "finished", "", seed));
                runs.back()["settings"] = {{"strategy.name", strategy}, {"strategy.server_lr", rate}};
            }
        };
        const auto differences = [&] {
            auto sweep = record_of_sweep(runs);
            sweep["keys"] = {"strategy.name", "strategy.server_lr"};
            const std::string text = markdown(sweep, std::vector<RunResult>(runs.size(), result_of(0.5)));
            return text.substr(text.find("## Differences"));
        };
        add("fedavg", "1");
        add("fedprox", "1");  // close in any case: if none is, all are shown
        add("fedadam", "0.01");
        CHECK(holds(differences(), "| fedadam | 0.01 | 2 | 0.0000 ± 0 |"));
        CHECK_FALSE(holds(differences(), "left out"));
        add("fedadam", "1");  // now the rate varies independently
        CHECK(holds(differences(), "| fedadam | 1 | 2 | 0.0000 ± 0 |"));
        CHECK_FALSE(holds(differences(), "| fedadam | 0.01 |"));
        CHECK(holds(differences(), "One setting that differs in more than one key is not shown."));
    }
}
