// A mode as the config knows it: name, keys, incompatible settings, dependence on the machine, and how to build it. Each mode
// is one file of this folder, with its server part if it has one. To add one: write the file, add its line to catalog.cpp.
#pragma once

#include "aggregation/base/keys.h"
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/client_optimizer.h"
#include "aggregation/memory/arena.h"
#include "sim/modes/mode.h"
#include "sim/strategies/strategy.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fedhive::sim {

/// A key of another section for which a mode accepts only some values.
struct KeyLimit {
    std::string key;                   // "failures.policy"
    std::vector<std::string> allowed;  // as written in YAML; empty: the key must be left out
    std::string why;
};

/// Whether a repeated run gives the same bits, with any number of workers.
enum class SameBits {
    Always,       // on both clocks
    BySameOrder,  // of arrivals: on the virtual clock, or if it is recorded
    Never,
};

/// The inputs of a mode.
struct ModeInput {
    Values values;                              // values of all its keys
    std::size_t cohort = 1;                     // clients in training at a time
    aggregation::OptimizerOptions optimizer{};  // the clients'
};

struct ModeSpec {
    std::string name;
    std::string summary;        // what it does, and its source: half a line
    std::vector<KeySpec> keys;  // flat beside `name` in the `mode:` section

    // Compatibility.
    bool whole_cohort = false;  // the cohort arrives as a whole, unless the quorum is smaller: clients may share slots
    bool needs_quorum = false;
    bool steps_by_arrival = false;  // each arrival makes a server step, so none may be missing
    bool all_clients = false;       // all clients work together in every round
    bool weighs_updates = true;
    bool averages_buffers = true;  // clients send their buffers, none of them older than the server's
    bool discounts = false;        // discounts updates by staleness
    std::string
        rate_key{};  // replaces the server rate if the mode has its own server part; empty: the server part is the strategy's
    std::vector<KeyLimit> limits{};

    SameBits same_bits = SameBits::Always;
    bool any_workers = true;  // the number of workers does not affect the result

    // Vectors of [P] that a worker needs besides its model, gradient and momentum.
    std::uint64_t gradient_vectors = 0;  // the gradient in one piece, zeros to form it
    std::uint64_t velocity_vectors = 0;  // if there is momentum

    Mode (*build)(const ModeInput& input) = nullptr;
    /// Replaces parts of the strategy by the mode's server part; null: there is none.
    void (*take_over)(Strategy& strategy, const ModeInput& input, const aggregation::Arena& arena) = nullptr;
};

/// All modes, in the order of REFERENCE.md.
const std::vector<ModeSpec>& mode_catalog();

/// The name must exist.
const ModeSpec& mode_spec(const std::string& name);

/// The modes that run this part: they provide what it needs, and replace no part that is more than plain averaging.
std::vector<std::string> modes_of(const LocalRuleSpec& local);
std::vector<std::string> modes_of(const aggregation::AggregatorSpec& rule);
std::vector<std::string> modes_of(const aggregation::ServerOptimizerSpec& server);
/// The modes that run all of a strategy's parts; names must be complete.
std::vector<std::string> modes_of(const StrategyParts& parts);

/// The modes in which a client trains alone from one model (Mode::trains_alone).
std::vector<std::string> modes_with_clients_alone();

/// The key for the number of arrivals that end a round (default: the cohort), shared by several modes.
KeySpec quorum_key();
std::size_t quorum_of(const ModeInput& input);

/// What happens with clients that are in flight at the end of the last round.
enum class AtEnd { Drop, Drain };
constexpr auto all_words(AtEnd) { return std::array{"drop", "drain"}; }
KeySpec at_end_key();

}  // namespace fedhive::sim
