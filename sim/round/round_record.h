// One round as it is reported: what went out, what came back, how long each phase took.
#pragma once

#include "aggregation/base/clock.h"
#include "clients/tasks/learning_task.h"
#include "sim/config/config.h"
#include "sim/round/fairness.h"
#include "sim/round/flight.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::sim {

/// A metric of the task by its name, clients/tasks/learning_task.h.
struct NamedMetric {
    std::string name;
    double value = 0.0;

    bool operator==(const NamedMetric&) const = default;
};

/// The global model's quality on the test set.
struct Metrics {
    double test_loss = 0.0;              // mean per example of what is minimised
    std::vector<NamedMetric> of_task{};  // in the task's order: the first is the one that runs are compared by

    double main() const { return of_task.front().value; }
    /// Good enough to stop.
    bool reaches(const StopConfig& stop) const {
        return std::ranges::any_of(of_task, [&](const NamedMetric& metric) {
            const std::optional<double> target = stop.test.of(metric.name);
            return target && entry_of(clients::metric_catalog(), metric.name, "metric").reaches(metric.value, *target);
        });
    }
    /// Empty: there is none of that name.
    std::optional<double> value(const std::string& name) const {
        const auto found = std::ranges::find(of_task, name, &NamedMetric::name);
        return found == of_task.end() ? std::nullopt : std::optional(found->value);
    }
};

/// How often clients and workers have failed since the first round; kept over a resume.
struct FailureCounts {
    std::uint64_t failures = 0;  // all
    std::uint64_t retried = 0;
    std::uint64_t dropped = 0;
    std::uint64_t workers_replaced = 0;
    std::uint64_t deaths_in_a_row = 0;  // workers lost since the last accepted update
};

/// In the order of rounds.csv.
enum class Phase { PullDown, Train, Barrier, Aggregate, ServerStep, Evaluate };
inline constexpr std::size_t kNumPhases = 6;
inline constexpr std::array<const char*, kNumPhases> kPhaseNames{"pull_down", "train",       "barrier",
                                                                 "aggregate", "server_step", "evaluate"};

struct RoundRecord {
    std::int64_t round = 0;  // from 1
    std::int64_t start_ns = now_ns();
    std::int64_t lap_ns = start_ns;  // end of the last phase
    std::int64_t origin_ns = 0;      // when the run began, were it never interrupted
    std::array<double, kNumPhases> seconds{};
    std::optional<Metrics> test;            // empty where the round was not evaluated
    std::optional<ClientsTest> on_clients;  // likewise
    std::optional<double> virtual_s;        // simulated time at its end; empty on the wall clock
    bool stepped = false;                   // an update was accepted, and became part of the model

    /// The time since the last lap belongs to this phase.
    void lap(Phase phase) { split(phase, now_ns()); }

    /// Training lasts until the last update was written; what passes until the coordinator goes on is the barrier's.
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
