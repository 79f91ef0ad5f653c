// What a fleet is told when it is made: the round's shape, what a user decides about failures, what a machine needs.
#pragma once

#include "sim/config/config.h"
#include "sim/fleet/faults.h"
#include "sim/modes/mode.h"
#include "sim/ranks/ranks.h"
#include "sim/round/slot_plan.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace fedhive::sim {

struct FleetOptions {
    std::uint32_t workers = 1;       // processes; 0: tasks run in the coordinator
    Ranks* ranks = &Ranks::alone();  // each with a fleet of its own, of which this is one
    bool by_client = false;          // a client is always trained by the same rank: what it keeps lies there
    SlotPlan slots;
    Mode mode;
    std::uint64_t test_chunk = 500;                  // examples in one evaluation task
    std::vector<std::uint32_t> evaluated_clients{};  // on whose held-out examples models are evaluated, too
    bool personalized = false;                       // each model of theirs as well
    std::uint64_t model_bytes = 0;                   // of its parameters, without padding
    std::uint64_t update_bytes = 0;                  // of an update on its way up, after the upload chain
    std::uint64_t activation_bytes = 0;              // of an example, at the cut of a split model
    /// Simulated seconds; empty: the wall clock decides.
    std::function<double(std::uint32_t client_id, std::uint64_t examples, const Traffic& traffic)> round_trip_s;
    std::vector<std::vector<std::uint32_t>>
        recorded_arrivals;  // per round, to be followed on the wall clock; empty: as they come
    FailuresConfig failures;
    std::string help_for_model;  // said where the global model is not finite
    FaultSchedule faults;
    std::filesystem::path logs;                                           // folder for worker-N.log; empty: none are kept
    std::vector<std::pair<std::string, std::string>> worker_environment;  // on top of this process's own
    /// Where workers share an MPS server, which one of them takes along when it dies: called when all are dead, before they are started anew;
    /// makes a new server and returns the environment of its clients. Empty: each worker dies alone.
    std::function<std::vector<std::pair<std::string, std::string>>()> renew_mps;

    /// Who arrives next is settled before anybody trains.
    bool order_is_known() const { return round_trip_s || !recorded_arrivals.empty(); }
};

}  // namespace fedhive::sim
