#include "sim/sweep/summary.h"

#include <doctest/doctest.h>

#include <sstream>

using namespace fedhive::sim;

namespace {

nlohmann::ordered_json run_of(const std::string& id, const std::string& status, const std::string& lr, int seed,
                              const std::string& reason = "") {
    return {{"id", id},          {"status", status},
            {"reason", reason},  {"seed", seed},
            {"workers", 1},      {"settings", {{"training.optimizer.lr", lr}, {"data.partition.sizes", "[0.5, 0.5]"}}},
            {"attempts", 1},     {"cpu_s", 1.5},
            {"peak_bytes", 1000}};
}

nlohmann::ordered_json sweep_of(const std::vector<nlohmann::ordered_json>& runs) {
    return {{"name", "two_rates"},
            {"keys", {"training.optimizer.lr", "data.partition.sizes"}},
            {"target_accuracy", 0.9},
            {"runs", runs}};
}

RunResult result_of(double accuracy, std::optional<std::int64_t> to_target = std::nullopt) {
    RunResult result;
    result.rounds = 5;
    result.version = 5;
    result.final_loss = 1.0 - accuracy;
    result.final_accuracy = accuracy;
    result.best_accuracy = accuracy;
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

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_SUITE("Summary") {
    TEST_CASE("CsvHasARowForEachRunWithWhatDependsOnTimeAtItsEnd") {
        const auto sweep =
            sweep_of({run_of("a", "finished", "0.1", 1), run_of("b", "failed", "0.2", 1, "worker 0 died, \"oom\"")});
        const std::string text = summary_csv(sweep, {result_of(0.95, 3), RunResult{}});
        CHECK(line(text, 0) ==
              "run,status,training.optimizer.lr,data.partition.sizes,seed,rounds_done,version,final_test_loss,final_test_"
              "accuracy,"
              "best_test_accuracy,best_round,rounds_to_target,failed,bytes_down,bytes_up,virtual_s,model_sha256,wall_s,cpu_s,"
              "peak_bytes,workers_used,attempts,failures,reason");
        CHECK(line(text, 1) ==
              "a,finished,0.1,\"[0.5, 0.5]\",1,5,5,0.050000000000000044,0.95,0.95,4,3,0,0,0,,00ff,2,1.5,1000,1,1,3,");
        CHECK(line(text, 2) == "b,failed,0.2,\"[0.5, 0.5]\",1,0,,,,,,,0,0,0,,,,1.5,1000,1,1,,\"worker 0 died, \"\"oom\"\"\"");
    }

    TEST_CASE("MarkdownGivesMeanAndIntervalOverTheSeedsOfASetting") {
        const auto sweep =
            sweep_of({run_of("a", "finished", "0.1", 1), run_of("b", "finished", "0.1", 2), run_of("c", "finished", "0.2", 1)});
        const std::string text = summary_markdown(sweep, {result_of(0.90, 3), result_of(0.92), result_of(0.5)});
        // 0.91 ± 12.7062 · 0.01
        CHECK(holds(
            text, "| 0.1 | [0.5, 0.5] | 2 | 0.9100 ± 0.1271 | 0.9100 ± 0.1271 | 0.0900 ± 0.1271 | 3.0 (1 of 2) | 2.0 ± 0.0 |"));
        CHECK(holds(text, "| 0.2 | [0.5, 0.5] | 1 | 0.5000 | 0.5000 | 0.5000 | – | 2.0 |"));
        CHECK(holds(text, "rounds to 0.9"));
        CHECK_FALSE(holds(text, "Not finished"));
    }

    TEST_CASE("WhatHasNotFinishedIsNamedAndNotAveraged") {
        const auto sweep = sweep_of({run_of("a", "finished", "0.1", 1), run_of("b", "failed", "0.1", 2, "client 3 | exploded"),
                                     run_of("c", "waiting", "0.2", 1)});
        const std::string text = summary_markdown(sweep, {result_of(0.9), result_of(0.1), RunResult{}});
        CHECK(holds(text, "| 0.1 | [0.5, 0.5] | 1 of 2 | 0.9000 |"));
        CHECK(holds(text, "| 0.2 | [0.5, 0.5] | 0 of 1 | – |"));
        CHECK(holds(text, "- `b`: failed: client 3 \\| exploded"));
        CHECK(holds(text, "- `c`: waiting\n"));
    }
}
