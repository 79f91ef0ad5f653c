// Chooses the runs of a sweep that start now, their hosts and their workers: a pure function of free resources, running and
// waiting runs.
//
// Hosts: waiting runs are dealt in turn, to hosts with the most free cores first; a run that does not fit its host is offered
// to the others. Cores: a run takes workers × threads. With more runs left than cores, each gets one worker; the last runs
// share the free cores. Memory: the memory that running runs may still take is reserved. Jobs: `jobs` runs at once, however many cores there are.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace fedhive::sim {

struct Room {
    std::int64_t cores = 1;
    std::int64_t jobs = 0;                        // runs at once; 0: limited by cores
    std::uint64_t host_bytes = 0;                 // free now
    std::optional<std::uint64_t> device_bytes{};  // free now; empty: unknown
};

/// A run that was started.
struct Placed {
    std::int64_t cores = 1;
    std::uint64_t host_growth = 0;  // bytes that it is expected to add
    bool on_device = false;
    bool measured = true;             // its device memory is known
    std::uint64_t device_growth = 0;  // as host_growth
};

/// A run to start.
struct Waiting {
    std::size_t run = 0;  // index in the sweep; breaks ties
    double core_seconds = 0.0;
    std::optional<std::int64_t> workers{};  // empty: chosen here, up to
    std::int64_t most_workers = 1;          // this number, above which workers would be idle
    std::int64_t threads = 1;               // per worker
    std::uint64_t host_bytes = 0;           // with `workers`, or with one
    bool on_device = false;
    std::optional<std::uint64_t> device_bytes{};  // empty: no similar run was measured
};

/// A machine and its runs.
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

/// Cores of a run: at least one, since a run without workers trains in its own process.
std::int64_t cores_of(std::int64_t workers, std::int64_t threads);

/// Host memory with `workers`, of a run that takes `bytes` with `measured_with`: assumes a worker as large as the coordinator.
std::uint64_t scaled_bytes(std::uint64_t bytes, std::int64_t measured_with, std::int64_t workers);

/// Starts the longest runs first. If a run does not fit, shorter ones may start before it. If nothing runs, the first one
/// starts however large it is: its own message is better.
std::vector<Start> pack(const std::vector<Site>& sites, std::vector<Waiting> waiting);

}  // namespace fedhive::sim
