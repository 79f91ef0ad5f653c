#include "aggregation/formulas/weight_text.h"
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

// Each is in the file of its name.
StrategySpec fedavg();
StrategySpec fedavgm();
StrategySpec fedprox();
StrategySpec fedadam();
StrategySpec fedyogi();
StrategySpec fedadagrad();
StrategySpec scaffold();
StrategySpec feddyn();
StrategySpec median();
StrategySpec krum();
StrategySpec trimmed_mean();
StrategySpec bulyan();
StrategySpec rfa();
StrategySpec centered_clipping();
StrategySpec fedexp();
StrategySpec fednova();
StrategySpec qfedavg();
StrategySpec term();
StrategySpec afl();
StrategySpec fedmgda_plus();
StrategySpec fedadp();
StrategySpec fedfv();
StrategySpec dnc();
StrategySpec feddisco();
StrategySpec fltrust();
StrategySpec zeno();
StrategySpec dp_ftrl();
StrategySpec foolsgold();

const std::vector<StrategySpec>& strategy_catalog() {
    static const std::vector<StrategySpec> catalog = {
        fedavg(), fedavgm(), fedprox(),  fedadam(),      fedyogi(), fedadagrad(),   scaffold(),
        feddyn(), median(),  krum(),     trimmed_mean(), bulyan(),  rfa(),          centered_clipping(),
        fedexp(), fednova(), qfedavg(),  term(),         afl(),     fedmgda_plus(), fedadp(),
        fedfv(),  dnc(),     feddisco(), fltrust(),      zeno(),    dp_ftrl(),      foolsgold(),
    };
    return catalog;
}

const StrategySpec& strategy_spec(const std::string& name) { return entry_of(strategy_catalog(), name, "strategy"); }

const LocalRuleSpec& local_rule_of(const StrategyParts& parts) {
    return parts.local.name == kFormula ? parts.method->client : local_rule_spec(parts.local.name);
}

aggregation::formulas::MethodFormulas formulas_of(const StrategyParts& parts) {
    if (parts.method != nullptr) return parts.method->with(completed(parts.of_method, parts.method->keys));
    const LocalRuleSpec& rule = local_rule_spec(parts.local.name);
    if (rule.formulas == nullptr) return {};
    const Values values = completed(parts.local.values, rule.keys);
    aggregation::formulas::MethodFormulas formulas = rule.formulas(values);
    formulas.keys = numbers_of(rule.keys, values);
    return formulas;
}

StrategyParts parts_of(const std::string& strategy, StrategyParts given) {
    const StrategySpec& spec = strategy_spec(strategy);
    if (given.method != nullptr) {
        using aggregation::formulas::Place;
        if (given.method->formulas.changes_visits() || !given.method->client.memories.empty()) given.local.name = kFormula;
        if (given.method->formulas.sets_weights())
            given.aggregator.name = given.method->formulas.reads_root() ? kFormulaWithRoot : kFormula;
        if (given.method->has(Place::Server)) given.server.name = kFormula;
    }
    if (given.rule != nullptr) given.aggregator = {kPythonRule};
    if (given.local.name.empty()) given.local.name = spec.local;
    if (given.pre_aggregation.name.empty()) given.pre_aggregation.name = spec.pre_aggregation;
    if (given.aggregator.name.empty()) given.aggregator.name = spec.aggregator;
    if (given.server.name.empty()) given.server.name = spec.server;
    return given;
}

std::size_t least_updates(const StrategyParts& parts) {
    const auto& rule = aggregation::aggregator_spec(parts.aggregator.name);
    const auto& groups = aggregation::pre_aggregation_spec(parts.pre_aggregation.name);
    const std::size_t rows = aggregation::least_updates(rule, completed(parts.aggregator.values, rule.keys));
    return groups.least(completed(parts.pre_aggregation.values, groups.keys), rows);
}

namespace {

void take_method(Strategy& strategy, const StrategyParts& parts) {
    using aggregation::formulas::Place;
    strategy.method = formulas_of(parts);
    if (parts.server.name == kFormula) {
        strategy.on_server = strategy.method;
    } else {
        const aggregation::ServerOptimizerSpec& server = aggregation::server_optimizer_spec(parts.server.name);
        strategy.on_server = server_formulas(strategy.method, server, completed(parts.server.values, server.keys));
    }
    strategy.cohort_numbers = std::make_shared<aggregation::formulas::CohortNumbers>();
    strategy.inner_products = strategy.inner_products || strategy.method.takes_products();
    if (strategy.method.has(Place::Cohort))
        strategy.weight_rule = aggregation::formulas::make_formula_weights(strategy.method, strategy.cohort_numbers);
}

}  // namespace

Strategy make_strategy(const std::string& name, Weighting weighting, const StrategyParts& given) {
    const StrategyParts parts = parts_of(name, given);
    Strategy strategy;
    strategy.name = name;
    strategy.weighting = weighting;
    const auto& rule = aggregation::aggregator_spec(parts.aggregator.name);
    const Values of_rule = completed(parts.aggregator.values, rule.keys);
    strategy.weight_rule = aggregation::formulas::make_weight_rule(rule, of_rule);
    strategy.root_client = rule.root;
    strategy.keeps_last_aggregate = rule.keeps_last;
    strategy.histories = rule.histories;
    strategy.aggregator = rule.build(of_rule);
    const auto& groups = aggregation::pre_aggregation_spec(parts.pre_aggregation.name);
    strategy.pre_aggregation = {parts.pre_aggregation.name, completed(parts.pre_aggregation.values, groups.keys)};
    strategy.inner_products = rule.products || groups.products;
    if (groups.groups != nullptr && !aggregation::is_linear(strategy.aggregator->column_rule())) {
        auto of_means = std::make_unique<aggregation::GroupMeans>(std::move(strategy.aggregator));
        strategy.group_means = of_means.get();
        strategy.aggregator = std::move(of_means);
    }
    take_method(strategy, parts);
    strategy.reports = strategy.method.reports;
    if (parts.visit != nullptr && !parts.visits_by_method())
        for (const ReportDoc& report : parts.visit->reports) strategy.reports.push_back(report.name);
    return strategy;
}

}  // namespace fedhive::sim
