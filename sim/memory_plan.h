// What the workers of a run take, known or measured before round 1, so that a run that cannot fit is refused and not killed half-way.
#pragma once

#include "sim/config/config.h"

#include <cstdint>
#include <functional>
#include <string>

namespace fedhive::sim {

struct Experiment;

/// Bytes of host memory that one worker process takes for itself: LibTorch's own (measured: 64 MiB with a small model) and its vectors of
/// [P]: local model, gradient, momentum, and the partial sums where a slot holds several clients. Activations are not counted.
std::uint64_t host_bytes_of_worker(const RunConfig& run, std::uint64_t num_floats);

/// How many of the wanted workers fit. `automatic`: at least 1, never an error. Throws ConfigError for a number that the user asked for.
std::uint32_t workers_that_fit(const LoadedConfig& loaded, std::uint32_t wanted, std::uint64_t bytes_each,
                               std::uint64_t available_bytes, const std::string& where);

/// Bytes of device memory that one worker takes: its context, its model, and the activations of one local step of the largest client and
/// of the evaluation. Found by doing that in a fleet of one worker; `free_bytes` tells what is free on the device.
std::uint64_t rehearse_worker(const Experiment& run, const std::function<std::uint64_t()>& free_bytes);

}  // namespace fedhive::sim
