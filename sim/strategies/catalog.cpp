#include "sim/strategies/strategy.h"

namespace fedhive::sim {

// Each in the file of its name.
StrategySpec fedavg();
StrategySpec fedavgm();
StrategySpec fedprox();
StrategySpec fedadam();
StrategySpec scaffold();
StrategySpec median();

const std::vector<StrategySpec>& strategy_catalog() {
    static const std::vector<StrategySpec> catalog = {
        fedavg(), fedavgm(), fedprox(), fedadam(), scaffold(), median(),
    };
    return catalog;
}

KeySpec averaging_rate() {
    return {.name = "server_lr",
            .default_value = 1.0,
            .range = above(0),
            .doc = "Server rate, per round, typically 1, which is plain averaging (η_g); far above 1 it overshoots."};
}

const StrategySpec& strategy_spec(const std::string& name) { return entry_of(strategy_catalog(), name, "strategy"); }

Strategy make_strategy(const std::string& name, const Values& given, Weighting weighting, const AggregatorChoice& aggregator) {
    const StrategySpec& spec = strategy_spec(name);
    Strategy strategy = spec.build(completed(given, spec.keys));
    strategy.name = name;
    strategy.weighting = weighting;
    const auto& rule = aggregation::aggregator_spec(aggregator.name.empty() ? spec.aggregator : aggregator.name);
    strategy.aggregator = rule.build(completed(aggregator.values, rule.keys));
    return strategy;
}

}  // namespace fedhive::sim
