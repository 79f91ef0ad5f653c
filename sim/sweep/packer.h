// Which runs of a sweep start now, where, and with how many workers: a pure function of what is free, what runs and what waits.
//
// By hosts: those with the most free cores choose first; the runs that wait are dealt to them in turn, and what does not fit where it was dealt
// is offered to the others.
// By cores: a run takes workers × threads of them. While more runs are left than there are cores each gets one worker, and the last ones
// share what is free. By memory: what runs may still grow to what is expected of it. By jobs: that many at once, whatever the cores.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace fedhive::sim {

struct Room {
    std::int64_t cores = 1;
    std::int64_t jobs = 0;                        // runs at once; 0: by cores
    std::uint64_t host_bytes = 0;                 // free now
    std::optional<std::uint64_t> device_bytes{};  // free now; empty: not known
};

/// A run that has been started.
struct Placed {
    std::int64_t cores = 1;
    std::uint64_t host_growth = 0;  // bytes that it is expected to take beyond what it has
    bool on_device = false;
    bool measured = true;             // what it takes of the device is known
    std::uint64_t device_growth = 0;  // as host_growth
};

/// A run that is to start.
struct Waiting {
    std::size_t run = 0;  // index in the sweep, which breaks ties
    double core_seconds = 0.0;
    std::optional<std::int64_t> workers{};  // empty: as many as is good, up to
    std::int64_t most_workers = 1;          // beyond which they would have nothing to do
    std::int64_t threads = 1;               // of each worker
    std::uint64_t host_bytes = 0;           // with the workers given, or with one
    bool on_device = false;
    std::optional<std::uint64_t> device_bytes{};  // empty: nothing like it has been measured
};

/// A machine, and what runs there.
struct Site {
    Room room;
    std::vector<Placed> placed{};
};

struct Start {
    std::size_t site = 0;
    std::size_t run = 0;
    std::int64_t workers = 0;
    std::int64_t cores = 1;
};

/// Cores that a run takes with so many workers: at least one, for a run without workers trains in its own process.
std::int64_t cores_of(std::int64_t workers, std::int64_t threads);

/// Host memory with `workers`, of a run that takes `bytes` with `measured_with`: a worker is taken to be as large as the coordinator.
std::uint64_t scaled_bytes(std::uint64_t bytes, std::int64_t measured_with, std::int64_t workers);

/// The longest first. A run that does not fit lets shorter ones pass; where nothing runs, the first one starts however large it is: it
/// says itself, and better, what it lacks.
std::vector<Start> pack(const std::vector<Site>& sites, std::vector<Waiting> waiting);

}  // namespace fedhive::sim
