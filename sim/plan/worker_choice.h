// What `workers: auto` comes to: which numbers of workers are worth a try, how long a probe may take, who wins, what is kept of it. Plain
// arithmetic and JSON; worker_probe.h measures.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::sim {

/// Local steps a second of so many workers together.
struct Throughput {
    std::uint32_t workers = 1;
    bool mps = false;
    double steps_per_s = 0.0;
};

/// Who chose: the config; the number of cores, unmeasured; a probe before this run, or before an earlier one; the run that is resumed.
enum class ChosenBy { Config, Cores, Probe, Cache, Before };

struct WorkerChoice {
    ChosenBy by = ChosenBy::Cores;
    std::uint32_t workers = 1;
    bool mps = false;
    std::vector<Throughput> measured;  // empty where nobody measured
    double cost_s = 0.0;               // of the probe, in this run
    bool disturbed = false;  // other programs used the cores: what was measured holds for this run, but not for another day's
};

/// All cores, three quarters, half and a quarter of them, descending: fewer are faster where two logical cores share one, or where memory is
/// too slow for all. `cores`: those that a worker's threads leave, at least 1.
std::vector<std::uint32_t> candidates_on_cores(std::uint32_t cores);

/// 1, 2, 4, … and `most` itself, descending: on a GPU, workers are limited by its memory, not by cores.
std::vector<std::uint32_t> candidates_on_device(std::uint32_t most);

/// Seconds that a probe before a run of `run_s` may take: a twentieth, at most kMostProbe_s. 0: too short a run to be probed.
double probe_budget_s(double run_s);
inline constexpr double kShareOfRun = 0.05;
inline constexpr double kMostProbe_s = 3.0;
inline constexpr double kLeastProbe_s = 1.0;  // starting processes takes half of it

/// Tries every candidate in turn, again and again, so that a disturbance hits them all; the first turn is a warm-up. Goes on as long as
/// another turn fits into the budget, seven times at most. Medians, or nothing where fewer than two turns fitted.
/// `try_one`: steps a second with so many workers. `elapsed_s`: since the probe began.
std::vector<Throughput> measure_in_turns(const std::vector<std::uint32_t>& candidates,
                                         const std::function<double(std::uint32_t)>& try_one,
                                         const std::function<double()>& elapsed_s, double budget_s);

/// The fewest workers, and then without MPS, among those within 3 % of the fastest. At least one is given.
Throughput fewest_of_the_fastest(const std::vector<Throughput>& measured);

/// "measured 4 → 121 steps/s, 2 → 118", "measured earlier …", "measured beside other programs …"; empty where nobody measured.
std::string describe(const WorkerChoice& choice);

/// For the manifest and the cache; null where the config chose.
nlohmann::json to_json(const WorkerChoice& choice);

/// Reads what to_json wrote, with the number of workers from elsewhere; empty where it is anything else.
std::optional<WorkerChoice> choice_from(const nlohmann::json& json, std::uint32_t workers);

}  // namespace fedhive::sim
