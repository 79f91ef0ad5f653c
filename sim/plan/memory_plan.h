// Memory of a run's workers, calculated or measured before round 1, so that a run that cannot fit is refused and not killed
// half-way.
#pragma once

#include "aggregation/memory/memories.h"
#include "clients/data/shared_dataset.h"
#include "clients/trainers/worker_plan.h"
#include "sim/config/loaded_config.h"

#include <cstdint>
#include <functional>
#include <string>

namespace fedhive::sim {

struct Experiment;

/// Host memory of one worker process: LibTorch's own (measured: 64 MiB with a small model), and its vectors of [P]: local
/// model, gradient, momentum, in some modes the gradient again in one piece, partial sums if a slot holds several clients, one
/// per memory beside the model, those of measured gradients, and for each client trained at once a model, a gradient and momentum; and
/// a range of columns of each update of a cohort, for inner products with histories.
std::uint64_t host_bytes_of_worker(const RunConfig& run, const aggregation::Memories& memories, std::uint64_t num_floats,
                                   std::uint64_t most_per_slot);

/// Estimated peak bytes of activations. Training: every layer's output, what recurrent layers and attention keep besides, and
/// gradients (clients::Activations), for one batch of each client trained at once.
/// Evaluation: 64 examples (direct) or the largest few layers of one chunk (LibTorch). Allocators may hold more. 0 for a graph,
/// whose layers are unknown.
std::uint64_t activation_bytes_of_worker(const RunConfig& run, const clients::ModelSpec& model, clients::Engine engine);

/// Sum of both; on a GPU without the activations.
std::uint64_t host_bytes_of_worker(const Experiment& run);

/// Device memory of a worker beyond what the rehearsal has measured: the vectors of [P] that only its mode, its objective,
/// its longer slots or its candidates need, and what inner products with histories do.
std::uint64_t device_bytes_beyond_rehearsal(const RunConfig& run, const aggregation::Memories& memories,
                                            std::uint64_t num_floats, std::uint64_t most_per_slot);

/// Device memory of a worker for the rows of clients that a GPU trains side by side: local model, gradient, momentum, and of_batch floats
/// of their batches' values.
std::uint64_t device_bytes_of_rows(std::uint64_t num_floats, std::uint64_t most_per_slot, std::uint64_t of_batch = 0);

/// The part of the free device memory that is planned for workers. The rest is for gaps in allocators and for other batch
/// sizes.
std::uint64_t device_bytes_for_workers(std::uint64_t free_bytes);

/// How many of the `wanted` workers fit: fewer than wanted only if the config leaves their number open. Throws ConfigError if
/// the config's number does not fit, or not even one worker; `holders`: the processes that have the rest of the memory.
std::uint32_t workers_that_fit(const LoadedConfig& loaded, std::uint32_t wanted, std::uint64_t bytes_each,
                               std::uint64_t available_bytes, const std::string& where, const std::string& holders = "");

/// The client with the most examples; the first of several.
std::uint32_t largest_client(const clients::SharedDataset& dataset);

struct Rehearsal {
    std::uint64_t bytes = 0;  // device memory: a worker's context, model, activations
    double step_s = 0.0;      // one client's local step; 0 if nobody trained
};

/// Measures a fleet of one worker: a few local steps of the largest client, with as many others as are trained at once (if
/// `trains`), and the evaluation. `free_bytes` returns the free memory of the device.
Rehearsal rehearse_worker(const Experiment& run, const std::function<std::uint64_t()>& free_bytes, bool trains = true);

}  // namespace fedhive::sim
