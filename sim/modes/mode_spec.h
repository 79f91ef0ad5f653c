// A mode as the config knows it: its name and keys, what it does not go together with, what depends on the machine in it; and how it is built.
// Each lives in one file of this folder, with the server's part where it has its own. To add one: write the file, add its line to catalog.cpp.
#pragma once

#include "aggregation/base/keys.h"
#include "aggregation/math/client_optimizer.h"
#include "aggregation/memory/arena.h"
#include "sim/modes/mode.h"
#include "sim/strategies/strategy.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fedhive::sim {

/// A key of another section of which a mode takes only some values.
struct KeyLimit {
    std::string key;                   // "failures.policy"
    std::vector<std::string> allowed;  // as they are written; none: it must be left out
    std::string why;
};

/// Whether a run gives the same bits again, with any number of workers.
enum class SameBits {
    Always,       // on both clocks
    BySameOrder,  // of arrival: on the virtual clock, or where it is recorded
    Never,
};

/// What a mode is made from.
struct ModeInput {
    Values values;                              // of all its keys
    std::size_t cohort = 1;                     // clients asked to train at a time
    aggregation::OptimizerOptions optimizer{};  // the clients'
};

struct ModeSpec {
    std::string name;
    std::string summary;        // what it does, and its source: half a line
    std::vector<KeySpec> keys;  // flat beside `name` in the `mode:` section

    // What goes together with it.
    bool whole_cohort = false;  // it arrives as a whole, unless there is a quorum below it: its clients may share slots
    bool needs_quorum = false;
    bool steps_by_arrival = false;  // each makes a step of the server, so nothing can be missing from it
    bool all_clients = false;       // work together in every round
    bool weighs_updates = true;
    bool averages_buffers = true;  // what clients send holds their model's, too, and nothing that is older than the server's
    bool discounts = false;        // updates by their age
    std::string
        rate_key{};  // where the server has a part of its own: takes the place of a server rate; empty: all of it is the strategy's
    std::vector<KeyLimit> limits{};

    SameBits same_bits = SameBits::Always;
    bool any_workers = true;  // their number is not a part of what is computed

    // Vectors of [P] that a worker keeps besides its model, its gradient and its momentum.
    std::uint64_t gradient_vectors = 0;  // the gradient in one piece, zeros to take it with
    std::uint64_t velocity_vectors = 0;  // where there is momentum

    Mode (*build)(const ModeInput& input) = nullptr;
    /// Replaces parts of the strategy by the server's own part; null: there is none.
    void (*take_over)(Strategy& strategy, const ModeInput& input, const aggregation::Arena& arena) = nullptr;
};

/// All modes, in the order of REFERENCE.md.
const std::vector<ModeSpec>& mode_catalog();

/// The name must exist.
const ModeSpec& mode_spec(const std::string& name);

/// The modes that run such a part: what it asks for is there, and a mode puts nothing of its own in the place of what is more than plain averaging.
std::vector<std::string> modes_of(const LocalRuleSpec& local);
std::vector<std::string> modes_of(const aggregation::AggregatorSpec& rule);
std::vector<std::string> modes_of(const aggregation::ServerOptimizerSpec& server);
/// Those that run all of a strategy's parts; names are complete.
std::vector<std::string> modes_of(const StrategyParts& parts);

/// Arrivals that end a round; where it is left out, the cohort. One key of several modes.
KeySpec quorum_key();
std::size_t quorum_of(const ModeInput& input);

/// What becomes of clients that are on their way when the last round ends.
KeySpec at_end_key();

}  // namespace fedhive::sim
