// What a run of a sweep came to, in numbers.
#pragma once

#include "clients/tasks/learning_task.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace fedhive::sim {

/// What a run's own files say of it; empty where it has not got so far.
struct RunResult {
    std::int64_t rounds = 0;  // done
    std::optional<std::uint64_t> version;
    std::optional<double> final_loss;         // of the last evaluated round
    const clients::Metric* metric = nullptr;  // its task's main one; null: no round is done
    std::optional<double> final_quality;      // by that metric, of the same
    std::optional<double> best_quality;
    std::optional<std::int64_t> best_round;        // the first that has it
    std::optional<std::int64_t> rounds_to_target;  // the first that reaches it
    std::uint64_t failed = 0;                      // clients dropped, over all rounds
    std::uint64_t bytes_down = 0;
    std::uint64_t bytes_up = 0;
    std::optional<double> virtual_s;
    std::string model_sha256;
    std::optional<double> wall_s;           // of the run, over resumes
    std::optional<std::uint64_t> failures;  // all that were noticed, those got over included

    /// By the same metric on the clients' held-out examples in the last round in which these were evaluated (fairness.csv).
    struct OnClients {
        std::optional<double> mean;
        std::optional<double> std;
        std::optional<double> worst_10;
    };
    OnClients global;
    OnClients personalized;
};

/// What a metric is to reach.
struct Target {
    const clients::Metric* metric;
    double value;
};

/// Reads the folder of a run, whatever state it is in; lines that are torn are left out.
RunResult read_result(const std::filesystem::path& run, const std::optional<Target>& target);

}  // namespace fedhive::sim
