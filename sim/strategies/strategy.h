// A strategy is a named combination from a paper: the client's objective, the weights of updates, the rule that turns updates
// into one, and the server's step. Each is one file of this folder that reads like the box in its paper and *names* its parts:
// a local rule (local_rules/), a grouping and a rule (aggregation/cohort), a server optimiser (aggregation/math). Keys belong to the parts, and a config may
// replace a part. To add one: write the file, add its line to catalog.cpp.
#pragma once

#include "aggregation/base/keys.h"
#include "aggregation/base/words.h"
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/cohort/group_means.h"
#include "aggregation/formulas/formula_server.h"
#include "aggregation/math/aggregator.h"
#include "aggregation/math/server_optimizer.h"
#include "aggregation/server/catalog.h"
#include "clients/protocol/task.h"
#include "sim/schedules/lr_schedule.h"
#include "sim/strategies/local_rule.h"
#include "sim/strategies/method.h"
#include "sim/strategies/python_code.h"

#include <memory>
#include <string>
#include <vector>

namespace fedhive::sim {

/// Weight of an update: its client's number of examples (n_k), or 1.
enum class Weighting { Examples, Uniform };
constexpr auto all_words(Weighting) { return std::array{"examples", "uniform"}; }

struct Strategy {
    std::string name;
    LrSchedule lr_schedule;  // of the client rate
    Weighting weighting = Weighting::Examples;
    std::unique_ptr<aggregation::WeightRule> weight_rule;  // null: updates keep their weights
    bool inner_products = false;                           // the weight rule or the grouping needs them
    bool root_client = false;                              // the weight rule needs its update
    bool keeps_last_aggregate = false;                     // the weight rule needs it
    bool histories = false;                                // the weight rule needs products of the sums of clients' updates
    Chosen pre_aggregation{"none"};                        // whose values are complete
    std::unique_ptr<aggregation::Aggregator> aggregator;
    aggregation::GroupMeans* group_means = nullptr;  // the aggregator, if it combines means of groups column by column
    /// Of strategy.file or of the local rule, with the values of its keys; empty without.
    aggregation::formulas::MethodFormulas method;
    std::vector<std::string> reports;  // of clients to the server: those of the method, then those of strategy.visit
    /// The server's formulas: the method's, or the local rule's and the server optimiser's.
    aggregation::formulas::MethodFormulas on_server;
    std::unique_ptr<aggregation::ServerOptimizer> server_optimizer;        // null before make_mode_strategy()
    std::shared_ptr<aggregation::formulas::CohortNumbers> cohort_numbers;  // with a method

    /// What the round, from 0, changes of the training of the clients that are sent in it.
    clients::RoundRate rate_in(std::uint64_t round) const { return {.lr_factor = lr_schedule.factor(round)}; }

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
    // Its own parts, by name; a config may replace them.
    std::string local = "plain";
    std::string pre_aggregation = "none";
    std::string aggregator = "mean";
    std::string server = "sgd";
};

/// All strategies, in the order of REFERENCE.md.
const std::vector<StrategySpec>& strategy_catalog();

/// The name must exist.
const StrategySpec& strategy_spec(const std::string& name);

/// Names and values of the parts. An empty name: the strategy's own part.
struct StrategyParts {
    Chosen local{};
    Chosen pre_aggregation{};
    Chosen aggregator{};
    Chosen server{};
    std::shared_ptr<const Method> method{};    // of strategy.file: the parts called kFormula are its own; null: none
    Values of_method{};                        // the values of its keys
    std::shared_ptr<const RuleFile> rule{};    // of strategy.rule or the method, in place of an aggregator; null: none
    Values of_rule{};                          // the values of its keys
    std::shared_ptr<const VisitFile> visit{};  // of strategy.visit or the method, in place of local training; null: none
    Values of_visit{};                         // the values of its keys

    /// The visit is a function of the method, whose reports and travelling memories are its own.
    bool visits_by_method() const { return visit != nullptr && method != nullptr && method->visit == visit; }
};

/// The local rule of the parts, whose names are complete.
const LocalRuleSpec& local_rule_of(const StrategyParts& parts);

/// The formulas of the parts' method or local rule, with the values of its keys; empty for neither. The names must be complete.
aggregation::formulas::MethodFormulas formulas_of(const StrategyParts& parts);

/// `given`, with the strategy's own parts for empty names. The strategy's name must exist.
StrategyParts parts_of(const std::string& strategy, StrategyParts given = {});

/// The number of updates below which the server must not step, by the rule and the grouping before it.
std::size_t least_updates(const StrategyParts& parts);

/// Builds the named strategy but for its server optimiser; missing parts are its own, missing values are defaults. The names must
/// exist.
Strategy make_strategy(const std::string& name, Weighting weighting, const StrategyParts& given = {});

}  // namespace fedhive::sim
