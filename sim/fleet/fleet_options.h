// The options of a fleet: the shape of a round, the policy on failures, sizes of what is sent, the machine.
#pragma once

#include "sim/config/run_config.h"
#include "sim/fleet/faults.h"
#include "sim/modes/mode.h"
#include "sim/ranks/ranks.h"
#include "sim/round/sent_model.h"
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
    Ranks* ranks = &Ranks::alone();  // this rank and the others, each with its own fleet
    bool by_client = false;          // each client is always trained by the same rank, which stores the client's state
    SlotPlan slots;
    Mode mode;
    std::uint64_t test_chunk = 500;                  // examples in one evaluation task
    std::vector<std::uint32_t> evaluated_clients{};  // clients on whose held-out examples models are evaluated, too
    std::uint64_t most_measured = 0;                 // largest number of clients in one call of Fleet::measure
    bool cross_losses = false;           // the server needs the losses of updates on the examples of the other clients
    bool groups_updates = false;         // the server's rule combines means of groups of updates
    bool personalized = false;           // of these clients, their personal models are evaluated as well
    std::uint64_t model_bytes = 0;       // of the model, without padding
    ModelBytes sent_bytes;               // of what is sent instead of the model, if the server compresses it
    std::uint64_t update_bytes = 0;      // of an update after the upload chain
    std::uint64_t report_bytes = 0;      // of a client's reports, which are sent with its update
    std::uint64_t activation_bytes = 0;  // of one example's activations at the cut of a split model
    /// Round trip in simulated seconds; empty: the wall clock decides.
    std::function<double(std::uint32_t client_id, std::uint64_t examples, const Traffic& traffic)> round_trip_s;
    std::vector<std::vector<std::uint32_t>>
        recorded_arrivals;  // per round, the order of arrivals to repeat on the wall clock; empty: none
    FailuresConfig failures;
    std::string help_for_model;  // added to the message that the global model is not finite
    FaultSchedule faults;
    std::filesystem::path logs;                                           // folder for worker-N.log; empty: none are kept
    std::vector<std::pair<std::string, std::string>> worker_environment;  // on top of this process's own
    /// Set if the workers share an MPS server, which a dying worker breaks: called when all workers are dead, before they are
    /// restarted. Starts a new server and returns the environment of its clients. Empty: each worker dies alone.
    std::function<std::vector<std::pair<std::string, std::string>>()> renew_mps;
};

}  // namespace fedhive::sim
