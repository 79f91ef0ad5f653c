// The runs of a sweep, side by side, each in a process of its own (`fedhive run`): as many as cores and memory hold, the longest first. A
// run that fails stops no other; a sweep that was interrupted, killed or extended is taken up from its folder.
#pragma once

#include "clients/protocol/process.h"
#include "sim/machine/nvml.h"
#include "sim/sweep/interrupt_signals.h"
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
    bool adopt = false;     // of a resumed sweep: its file may have changed since
    std::int64_t jobs = 0;  // runs at once; 0: by cores
    std::filesystem::path executable = "/proc/self/exe";
    std::function<void()> on_tick{};  // five times a second and after each change, when sweep.json tells of it
    FreeDeviceMemory free_device_memory = nvml_free_memory();
};

/// Runs what is left to run, with one estimate for each run of the sweep. To be called after clients::block_interrupts(), by the thread
/// that stays: with it end the runs. Returns 0 when all runs have finished or were stopped early, 1 when some have failed, 130 after an
/// interrupt. Throws ConfigError before anything starts: a folder that is not empty, holds no sweep, is another process's, or, without
/// `adopt`, belongs to other runs than these.
int run_sweep(const SweepConfig& sweep, const std::vector<RunEstimate>& estimates, const SweepOptions& options);

class Scheduler {
public:
    /// The folder is claimed and its inputs are written; what is given has to outlive this.
    Scheduler(const SweepConfig& sweep, const std::vector<RunEstimate>& estimates, const SweepOptions& options,
              SweepRecord record);

    /// As run_sweep().
    int run();

private:
    /// A run whose process is there.
    struct AtWork {
        std::size_t run;
        std::int64_t cores;
        std::uint64_t log_begin;                   // bytes of its log that are older than the process
        std::int64_t rounds_before;                // in its table
        std::optional<std::uint64_t> device_free;  // before it started
        clients::ChildProcess process;
        std::int64_t start_ns = 0;
        std::int64_t looked_ns = 0;
        std::uint64_t host_bytes = 0;  // when last looked
        std::uint64_t peak_bytes = 0;
        bool settled = false;   // it has done a round: it takes all that it will take
        bool measured = false;  // what it takes of the device was known before, or is now
    };

    void run_all();
    bool all_done() const;
    void take_interrupts();
    void collect_ended();
    void ended(const AtWork& at_work, const clients::ChildProcess::End& end);
    bool to_be_tried_again(std::size_t run, const clients::ChildProcess::End& end);
    void start_what_fits();
    void start(const Start& start);
    void wait() const;
    int finish();
    void give_up(const std::string& error);
    void save();

    // scheduler_rungs.cpp: early stopping.
    std::optional<std::int64_t> rung() const;
    void pass_rungs();
    void compare_runs(std::int64_t rung);
    void pause_who_is_there();

    // scheduler_memory.cpp: what runs take, and so what may start.
    void look_at_memory();
    void look_at(AtWork& at_work);
    void free_device(const AtWork& ended);
    bool on_device(std::size_t run) const;
    Room room() const;
    Placed placed(const AtWork& at_work) const;
    Waiting waiting(std::size_t run) const;

    const SweepConfig& sweep_;
    const std::vector<RunEstimate>& estimates_;
    const SweepOptions& options_;
    SweepRecord record_;
    std::vector<std::string> keys_;  // memory_key() of each run
    Measurements measurements_;
    std::list<AtWork> at_work_;
    std::map<std::size_t, int> kills_;  // how often each run was killed from outside
    InterruptSignals signals_;
    int interrupt_ = 0;  // the first signal
    bool has_device_;    // whose memory is known
    Summary summary_;
    std::int64_t start_ns_;
    double wall_before_s_;
};

/// Whether the number of workers changes nothing but the time the run takes, so that the sweep may choose it.
bool workers_are_free(const SweepRun& run);

}  // namespace fedhive::sim
