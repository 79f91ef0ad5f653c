// The choice for `workers: auto`: candidates, time budget of a probe, the winner, and its stored form. Plain arithmetic and
// JSON; worker_probe.h measures.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::sim {

/// Local steps per second of `workers` workers together.
struct Throughput {
    std::uint32_t workers = 1;
    bool mps = false;
    double steps_per_s = 0.0;
};

/// The origin of a choice: the config; the number of cores, unmeasured; a probe before this run, or before an earlier one; the
/// resumed run.
enum class ChosenBy { Config, Cores, Probe, Cache, Before };

struct WorkerChoice {
    ChosenBy by = ChosenBy::Cores;
    std::uint32_t workers = 1;
    bool mps = false;
    std::vector<Throughput> measured;  // empty if not measured
    double cost_s = 0.0;               // seconds of the probe, in this run
    bool disturbed = false;            // other programs used the cores: valid for this run, not stored for later ones
};

/// All cores, three quarters, half and a quarter of them, descending. Fewer workers are faster if two logical cores share one,
/// or if memory is too slow for all. `cores`: the number that the workers' threads leave, at least 1.
std::vector<std::uint32_t> candidates_on_cores(std::uint32_t cores);

/// 1, 2, 4, … and `most` itself, descending: on a GPU, memory limits the workers, not cores.
std::vector<std::uint32_t> candidates_on_device(std::uint32_t most);

/// Seconds that a probe before a run of `run_s` may take: kShareOfRun of it, at most kMostProbe_s. 0: the run is too short for
/// a probe.
double probe_budget_s(double run_s);
inline constexpr double kShareOfRun = 0.05;
inline constexpr double kMostProbe_s = 3.0;
inline constexpr double kLeastProbe_s = 1.0;  // half of it goes into starting processes

/// Tries every candidate in turn, repeatedly, so that a disturbance affects all; the first turn is a warm-up. Continues while
/// another turn fits into the budget, up to seven measured turns. Returns medians, or nothing after fewer than two measured
/// turns. `try_one`: steps per second with this number of workers. `elapsed_s`: since the probe began.
std::vector<Throughput> measure_in_turns(const std::vector<std::uint32_t>& candidates,
                                         const std::function<double(std::uint32_t)>& try_one,
                                         const std::function<double()>& elapsed_s, double budget_s);

/// Among those within 3 % of the fastest: the fewest workers, then the one without MPS. `measured` is not empty.
Throughput fewest_of_the_fastest(const std::vector<Throughput>& measured);

/// "measured 4 → 121 steps/s, 2 → 118", "measured earlier …", "measured beside other programs …"; empty if not measured.
std::string describe(const WorkerChoice& choice);

/// For the manifest and the cache; null if the config chose.
nlohmann::json to_json(const WorkerChoice& choice);

/// Reads what to_json wrote; the number of workers is stored elsewhere. Empty for any other JSON.
std::optional<WorkerChoice> choice_from(const nlohmann::json& json, std::uint32_t workers);

}  // namespace fedhive::sim
