#include "sim/strategies/strategy.h"

#include "aggregation/base/error.h"

#include <algorithm>
#include <utility>

namespace fedhive::sim {

// Each in the file of its name.
StrategySpec fedavg();
StrategySpec fedavgm();
StrategySpec fedprox();
StrategySpec fedadam();
StrategySpec median();

const std::vector<StrategySpec>& strategy_catalog() {
    static const std::vector<StrategySpec> catalog = {
        fedavg(), fedavgm(), fedprox(), fedadam(), median(),
    };
    return catalog;
}

const StrategySpec* find_strategy(const std::string& name) {
    const std::vector<StrategySpec>& catalog = strategy_catalog();
    const auto found =
        std::find_if(catalog.begin(), catalog.end(), [&](const StrategySpec& spec) { return spec.name == name; });
    return found != catalog.end() ? &*found : nullptr;
}

Strategy make_strategy(const std::string& name, const Values& given, Weighting weighting, const AggregatorChoice& aggregator) {
    const StrategySpec* spec = find_strategy(name);
    FEDHIVE_CHECK(spec != nullptr, "no strategy is called '{}'", name);
    Strategy strategy = spec->build(completed(given, spec->keys));
    strategy.name = name;
    strategy.weighting = weighting;
    const auto& rule = aggregation::aggregator_spec(aggregator.name.empty() ? spec->aggregator : aggregator.name);
    strategy.aggregator = rule.build(completed(aggregator.values, rule.keys));
    return strategy;
}

}  // namespace fedhive::sim
