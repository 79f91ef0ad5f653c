// What the workers of a run take, known or measured before round 1, so that a run that cannot fit is refused and not killed half-way.
#pragma once

#include "aggregation/memory/channels.h"
#include "clients/data/shared_dataset.h"
#include "clients/training/worker_plan.h"
#include "sim/config/config.h"

#include <cstdint>
#include <functional>
#include <string>

namespace fedhive::sim {

struct Experiment;

/// Bytes of host memory that one worker process takes for itself: LibTorch's own (measured: 64 MiB with a small model) and its vectors of
/// [P]: local model, gradient, in some modes also in one piece, momentum, the partial sums where a slot holds several clients, and for
/// each of those trained at once a model of its own with all that, and a vector for each channel beside the model.
std::uint64_t host_bytes_of_worker(const RunConfig& run, const aggregation::Channels& channels, std::uint64_t num_floats,
                                   std::uint64_t most_per_slot);

/// What lies between the layers: in a local step all that they give for its batch; in an evaluation the same of 64 examples by the direct engine, by
/// LibTorch a few of the largest for a chunk. About: allocators keep more. 0 of a graph, whose layers nobody knows, and on a GPU.
std::uint64_t activation_bytes_of_worker(const RunConfig& run, const clients::ModelSpec& model, clients::Engine engine);

/// Both together.
std::uint64_t host_bytes_of_worker(const Experiment& run);

/// Of device memory, what a worker of this run takes besides what the rehearsal has measured: the vectors of [P] that only its mode, its
/// objective or its longer slots need.
std::uint64_t device_bytes_beyond_rehearsal(const RunConfig& run, const aggregation::Channels& channels,
                                            std::uint64_t num_floats, std::uint64_t most_per_slot);

/// Of device memory, what a worker takes for the rows of clients that a GPU trains side by side: local model, gradient, momentum.
std::uint64_t device_bytes_of_rows(std::uint64_t num_floats, std::uint64_t most_per_slot);

/// Of free device memory, what workers may be planned into: allocators leave gaps, and batches of other sizes make other activations.
std::uint64_t device_bytes_for_workers(std::uint64_t free_bytes);

/// How many of the wanted workers fit. `automatic`: at least 1, never an error. Throws ConfigError for a number that the user asked for;
/// `holders` says who has the rest.
std::uint32_t workers_that_fit(const LoadedConfig& loaded, std::uint32_t wanted, std::uint64_t bytes_each,
                               std::uint64_t available_bytes, const std::string& where, const std::string& holders = "");

/// The client with the most examples, the first of several.
std::uint32_t largest_client(const clients::SharedDataset& dataset);

struct Rehearsal {
    std::uint64_t bytes = 0;  // of device memory: a worker's context, its model, its activations
    double step_s = 0.0;      // one local step of one client; 0 where nobody trained
};

/// A few local steps of the largest client, with as many others as are trained at once, unless nobody `trains`, and the evaluation, in a fleet of
/// one worker; `free_bytes` tells what is free on the device.
Rehearsal rehearse_worker(const Experiment& run, const std::function<std::uint64_t()>& free_bytes, bool trains = true);

}  // namespace fedhive::sim
