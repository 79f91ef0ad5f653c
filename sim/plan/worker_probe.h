// Before round 1: how many workers a run with `workers: auto` gets. A choice made earlier on this machine, or a short race between numbers
// of workers, or as many as there are cores.
#pragma once

#include "sim/plan/estimate.h"
#include "sim/plan/experiment.h"
#include "sim/plan/worker_choice.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace fedhive::sim {

/// A race on the real model and data: workers train the largest client's first batches, all of them the same.
/// `candidates`: descending; as many workers as the first one says are started. `step_s`: one local step of one worker alone. Empty where the
/// budget was too small. Throws RunAborted where a client fails, MpsFault, Interrupted.
std::vector<Throughput> race_workers(const Experiment& run, const std::vector<std::uint32_t>& candidates, double step_s,
                                     double budget_s, bool mps);

/// How a probe measures; tests have timings of their own, which no other program can disturb.
struct ProbeMethods {
    std::function<StepTime(const Experiment& run, double short_s)> time_step = time_of_step;
    std::function<std::vector<Throughput>(const Experiment& run, const std::vector<std::uint32_t>& candidates, double step_s,
                                          double budget_s, bool mps)>
        race = race_workers;
};

/// The choice for a run with `rounds_left` to go. Probes only where the number of workers changes nothing but the time, and the time left
/// is long enough; on a GPU without the processes' start. Nothing of `run` is changed but slots, which hold nothing before a round.
/// `before`: of the run that is resumed, on this machine. Throws Interrupted.
WorkerChoice choose_workers(const Experiment& run, std::int64_t rounds_left, const std::optional<WorkerChoice>& before,
                            const ProbeMethods& methods = {});

/// All that the result of a race depends on: machine, program, and what a local step costs.
std::string race_key(const Experiment& run);

}  // namespace fedhive::sim
