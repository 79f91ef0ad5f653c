// The record of one round: metrics and the duration of each phase.
#pragma once

#include "aggregation/base/clock.h"
#include "clients/tasks/learning_task.h"
#include "sim/config/run_config.h"
#include "sim/round/fairness.h"
#include "sim/round/flight.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::sim {

/// A metric's value, under its name in clients/tasks/learning_task.h.
struct NamedMetric {
    std::string name;
    double value = 0.0;

    bool operator==(const NamedMetric&) const = default;
};

/// The global model's quality on the test set.
struct Metrics {
    double test_loss = 0.0;              // mean training objective per example
    std::vector<NamedMetric> of_task{};  // in the task's order: runs are compared by the first
    std::vector<double> confusion{};     // [classes][classes]: test targets by label and prediction; empty if not asked for

    double main() const { return of_task.front().value; }
    std::optional<double> attack_success{};  // accuracy on triggered examples: how many get the attackers' class; empty without

    /// One of the metrics has reached its target.
    bool reaches(const StopConfig& stop) const {
        return std::ranges::any_of(of_task, [&](const NamedMetric& metric) {
            const std::optional<double> target = stop.test.of(metric.name);
            return target && entry_of(clients::metric_catalog(), metric.name, "metric").reaches(metric.value, *target);
        });
    }
    /// The metric of that name; empty if there is none.
    std::optional<double> value(const std::string& name) const {
        const auto found = std::ranges::find(of_task, name, &NamedMetric::name);
        return found == of_task.end() ? std::nullopt : std::optional(found->value);
    }
};

/// Failures of clients and workers since the first round, resumes included.
struct FailureCounts {
    std::uint64_t failures = 0;  // all
    std::uint64_t retried = 0;
    std::uint64_t dropped = 0;
    std::uint64_t workers_replaced = 0;
    std::uint64_t deaths_in_a_row = 0;  // workers lost since the last accepted update
};

/// The phases, in the order of rounds.csv.
enum class Phase { PullDown, Train, Barrier, Aggregate, ServerStep, Evaluate };
inline constexpr std::size_t kNumPhases = 6;
inline constexpr std::array<const char*, kNumPhases> kPhaseNames{"pull_down", "train",       "barrier",
                                                                 "aggregate", "server_step", "evaluate"};

struct RoundRecord {
    std::int64_t round = 0;  // from 1
    std::int64_t start_ns = now_ns();
    std::int64_t lap_ns = start_ns;  // end of the last lap
    std::int64_t origin_ns = 0;      // the run's start, had it never been interrupted
    std::array<double, kNumPhases> seconds{};
    std::optional<Metrics> test;            // empty if the round was not evaluated
    std::optional<ClientsTest> on_clients;  // likewise
    std::optional<double> virtual_s;        // simulated time at the round's end; empty on the wall clock
    std::optional<double> epsilon;          // of the server steps so far; empty without `privacy`
    std::optional<double> clip_norm;        // of the round's clients; empty without adaptive_clip
    bool stepped = false;                   // an accepted update changed the model

    /// Adds the time since the last lap to this phase.
    void lap(Phase phase) { split(phase, now_ns()); }

    /// Training lasts until the last update is written; the time from there until now belongs to the barrier.
    void waited(const Arrivals& arrived) {
        split(Phase::Train, std::max(lap_ns, arrived.last_ns));
        lap(Phase::Barrier);
    }

private:
    void split(Phase phase, std::int64_t until_ns) {
        seconds[static_cast<std::size_t>(phase)] += seconds_between(lap_ns, until_ns);
        lap_ns = until_ns;
    }
};

}  // namespace fedhive::sim
