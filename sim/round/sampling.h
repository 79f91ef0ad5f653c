// A config's sampler (sim/selection), the clients that it asks at a simulated time, and what it is told of a round.
#pragma once

#include "clients/data/shared_dataset.h"
#include "sim/config/run_config.h"
#include "sim/devices/devices.h"
#include "sim/round/flight.h"
#include "sim/selection/sampler.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace fedhive::sim {

std::unique_ptr<Sampler> make_sampler(const RunConfig& run, const clients::SharedDataset& dataset);

/// The most clients that are asked for a measure at a time; 0 for a sampler that never asks.
std::uint64_t most_measured(const RunConfig& run, std::uint64_t num_clients);

/// At most `count` of the clients that are available at now_s and not `busy` (ascending ids). If no client is busy and
/// none that the sampler asks is available, now_s advances to the next time that one is; throws Fault if there is none.
/// ask: returns clients' measures; empty if they cannot measure.
/// Cost: the sampler's; grows with the number of clients if now_s advances.
Cohort sample_idle(Sampler& sampler, std::uint64_t num_clients, const Cohort& busy, std::size_t count, const Stream& stream,
                   const Devices& devices, double& now_s, const AskMeasure& ask = {});

/// The accepted clients of a round.
std::vector<ClientOutcome> outcomes_of(const Arrivals& arrived);

}  // namespace fedhive::sim
