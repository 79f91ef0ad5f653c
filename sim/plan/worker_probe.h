// The number of workers for `workers: auto`, settled before round 1: an earlier choice on this machine, a short race between
// candidates, or the number of cores.
#pragma once

#include "sim/plan/estimate.h"
#include "sim/plan/experiment.h"
#include "sim/plan/worker_choice.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace fedhive::sim {

/// A race on the real model and data: workers train the largest client's first batches, each the same. `candidates`:
/// descending; as many workers are started as the first one says. `step_s`: one local step of one worker alone. Empty if the
/// budget was too small. Throws RunAborted if a client fails, MpsFault, Interrupted.
std::vector<Throughput> race_workers(const Experiment& run, const std::vector<std::uint32_t>& candidates, double step_s,
                                     double budget_s, bool mps);

/// The measurements of a probe; tests replace them by ones that no other program can disturb.
struct ProbeMethods {
    std::function<StepTime(const Experiment& run, double short_s)> time_step = time_of_step;
    std::function<std::vector<Throughput>(const Experiment& run, const std::vector<std::uint32_t>& candidates, double step_s,
                                          double budget_s, bool mps)>
        race = race_workers;
};

/// The choice for a run with `rounds_left` rounds to go. Probes only if the number of workers affects nothing but time, and if
/// the time left is long enough; on a GPU the budget excludes the start of processes. Changes nothing of `run` except slots,
/// which are empty before a round. `before`: the resumed run's choice, on this machine. Throws Interrupted.
WorkerChoice choose_workers(const Experiment& run, std::int64_t rounds_left, const std::optional<WorkerChoice>& before,
                            const ProbeMethods& methods = {});

/// Everything that the result of a race depends on: machine, program, and the cost of a local step.
std::string race_key(const Experiment& run);

}  // namespace fedhive::sim
