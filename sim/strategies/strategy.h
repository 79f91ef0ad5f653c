// A strategy is a named combination from a paper: what the client optimises, how an update is weighted, the rule that turns updates into
// one, and the server's step. Each lives in one file of this folder that reads like the box in its paper and *names* its parts; the
// parts live in aggregation/math and clients/training. To add one: write the file, add its line to catalog.cpp.
#pragma once

#include "aggregation/base/keys.h"
#include "aggregation/math/aggregator.h"
#include "aggregation/math/server_optimizer.h"
#include "clients/protocol/task.h"
#include "sim/schedules/lr_schedule.h"

#include <memory>
#include <string>
#include <vector>

namespace fedhive::sim {

/// How much an update counts: its client's number of examples (n_k), or the same for all.
enum class Weighting { Examples, Uniform };

struct Strategy {
    std::string name;
    clients::Objective objective;
    LrSchedule lr_schedule;         // of the client rate
    bool control_variates = false;  // travel behind the model, and each client keeps one (aggregation/math/control_variates.h)
    Weighting weighting = Weighting::Examples;
    std::unique_ptr<aggregation::Aggregator> aggregator;
    std::unique_ptr<aggregation::ServerOptimizer> server_optimizer;

    /// Of clients that are sent out in that round, from 0.
    clients::Objective objective_in(std::uint64_t round) const {
        clients::Objective in_round = objective;
        in_round.lr_factor = lr_schedule.factor(round);
        return in_round;
    }

    /// w_k, before normalisation.
    double weight(std::uint64_t num_examples) const {
        return weighting == Weighting::Examples ? static_cast<double>(num_examples) : 1.0;
    }
};

struct StrategySpec {
    std::string name;
    std::string source;  // paper, arXiv number
    std::string note;    // for REFERENCE.md: what it does, what to watch
    Weighting default_weighting = Weighting::Examples;
    std::string aggregator = "mean";  // its own; a config may name another
    std::vector<KeySpec> keys;        // flat beside `name` in the `strategy:` section
    // What it asks of a mode (modes_of, sim/modes/mode_spec.h).
    bool client_term = false;   // clients minimise more than their loss, so they have to take local steps of their own
    bool server_part = false;   // its rule or its server step is what it is about: a mode may not put its own in their place
    bool client_state = false;  // clients keep something from round to round, which changes when their update is accepted
    Strategy (*build)(const Values& values) = nullptr;
};

/// server_lr of a strategy whose server adds what the rule gives: 1 is plain averaging.
KeySpec averaging_rate();

/// All strategies, in the order of REFERENCE.md.
const std::vector<StrategySpec>& strategy_catalog();

/// The name must exist.
const StrategySpec& strategy_spec(const std::string& name);

/// The strategy's own rule, or another one by its name, with the values of its keys.
struct AggregatorChoice {
    std::string name;  // empty: the strategy's own
    Values values{};
};

/// Builds the named strategy; missing values take their defaults. The names must exist.
Strategy make_strategy(const std::string& name, const Values& given, Weighting weighting,
                       const AggregatorChoice& aggregator = {});

}  // namespace fedhive::sim
