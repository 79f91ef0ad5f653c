// Schedules the runs of a sweep, each in its own process (`fedhive run`): as many at once as cores and memory allow, the
// longest first. A failed run stops no other. A sweep that was interrupted, killed or extended continues from its folder. Hosts
// own the processes.
#pragma once

#include "sim/sweep/hosts.h"
#include "sim/sweep/measurements.h"
#include "sim/sweep/packer.h"
#include "sim/sweep/summary.h"
#include "sim/sweep/sweep_folder.h"
#include "sim/sweep/sweep_record.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::sim {

struct SweepOptions {
    std::filesystem::path folder;
    bool resume = false;
    bool adopt = false;               // on a resume: the sweep file may have changed
    std::int64_t jobs = 0;            // runs at once on each host; 0: by cores
    std::function<void()> on_tick{};  // five times a second and after each change, when sweep.json is up to date
};

/// Runs all remaining runs; `estimates`: one per run of the sweep. Returns 0 when all runs have finished or were stopped early,
/// 1 if some have failed, 130 after an interrupt. Throws ConfigError before anything starts if the folder is not empty, holds
/// no sweep, is in use by another process, is not accessible to all hosts, or, without `adopt`, belongs to other runs.
int run_sweep(const SweepConfig& sweep, const std::vector<RunEstimate>& estimates, Hosts& hosts, const SweepOptions& options);

class Scheduler {
public:
    /// The folder is locked and its inputs are written; all references must outlive this.
    Scheduler(const SweepConfig& sweep, const std::vector<RunEstimate>& estimates, Hosts& hosts, const SweepOptions& options,
              SweepRecord record);

    /// As run_sweep().
    int run();

private:
    /// A run with a process.
    struct AtWork {
        std::size_t run = 0;
        std::size_t host = 0;
        std::int64_t cores = 1;
        std::optional<std::uint64_t> device_free;  // on its host, before it started
        std::int64_t start_ns = 0;
        bool measured = false;  // its device memory is known
        RunNews news{};
    };

    void run_all();
    bool all_done() const;
    void take_interrupts();
    void take_news();
    void collect_ended();
    void ended(const AtWork& at_work, const RunEnd& end);
    bool to_be_tried_again(std::size_t run, const RunEnd& end);
    void start_what_fits();
    void start(const Start& start);
    int finish();
    void give_up(const std::string& error);
    void save();

    // scheduler_rungs.cpp: early stopping.
    std::optional<std::int64_t> rung() const;
    void pass_rungs();
    void compare_runs(std::int64_t rung);
    void pause_who_is_there();

    // scheduler_memory.cpp: memory of runs, and hence what may start.
    void look_at_memory();
    void look_at(AtWork& at_work);
    void free_device(const AtWork& ended);
    bool on_device(std::size_t run) const;
    Site site(std::size_t host) const;
    std::int64_t fewest_cores() const;
    Placed placed(const AtWork& at_work) const;
    Waiting waiting(std::size_t run) const;

    const SweepConfig& sweep_;
    const std::vector<RunEstimate>& estimates_;
    Hosts& hosts_;
    const SweepOptions& options_;
    SweepRecord record_;
    std::vector<std::string> keys_;  // memory_key() of each run
    Measurements measurements_;
    std::list<AtWork> at_work_;
    std::map<std::size_t, int> kills_;  // how often each run was killed by others
    int interrupt_ = 0;                 // the first signal on any host
    bool has_device_;                   // a device with known memory
    Summary summary_;
    std::int64_t start_ns_;
    double wall_before_s_;
};

/// True if the number of workers affects only the run's time, so that the sweep may choose it.
bool workers_are_free(const SweepRun& run);

}  // namespace fedhive::sim
