// The results of a sweep's run, in numbers.
#pragma once

#include "clients/tasks/learning_task.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace fedhive::sim {

/// The results in a run's own files; fields are empty if it has not got so far.
struct RunResult {
    std::int64_t rounds = 0;  // rounds done
    std::optional<std::uint64_t> version;
    std::optional<double> final_loss;         // of the last evaluated round
    const clients::Metric* metric = nullptr;  // its task's main metric; null: no round is done
    std::optional<double> final_quality;      // that metric of the same round
    std::optional<double> best_quality;
    std::optional<std::int64_t> best_round;        // the first with that value
    std::optional<std::int64_t> rounds_to_target;  // the first that reaches the target
    std::uint64_t failed = 0;                      // clients dropped, over all rounds
    std::uint64_t bytes_down = 0;
    std::uint64_t bytes_up = 0;
    std::optional<double> virtual_s;
    std::string model_sha256;
    std::optional<double> wall_s;           // of the run, resumes included
    std::optional<std::uint64_t> failures;  // all, those resolved included

    /// The same metric on the clients' held-out examples, at the last such evaluation (fairness.csv).
    struct OnClients {
        std::optional<double> mean;
        std::optional<double> std;
        std::optional<double> worst_10;
        std::optional<double> best_10;
    };
    OnClients global;
    OnClients personalized;
};

/// A metric's target value.
struct MetricTarget {
    const clients::Metric* metric;
    double value;
};

/// Reads the folder of a run in any state; ignores torn lines.
RunResult read_result(const std::filesystem::path& run, const std::optional<MetricTarget>& target);

}  // namespace fedhive::sim
