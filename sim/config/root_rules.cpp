#include "sim/config/root_rules.h"

#include "aggregation/cohort/aggregator_catalog.h"
#include "clients/data/partition.h"
#include "sim/modes/mode_spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace fedhive::sim {

namespace {

/// Refuses parts that keep state for each client: the root client has no state between rounds.
void check_state(const RunConfig& run, const ConfigSource& source) {
    const std::string who = who_needs_root(run);
    const bool by_file = run.strategy.parts.aggregator.name == kFormulaWithRoot;
    const char* instead = by_file ? "choose another method" : "choose another aggregator";
    if (run.strategy.parts.method != nullptr && run.strategy.client_state())
        throw source.error(by_file ? "strategy.file" : "strategy.aggregator",
                           fmt::format("the clients of '{}' remember, but the server's own client, which {} needs, has "
                                       "no memory; {}",
                                       run.strategy.title(), who, instead));
    if (run.model.has_local_part())
        throw source.error("model.local",
                           fmt::format("the server trains the whole model on its own examples for {}, so that no part "
                                       "of it can stay on the clients; remove model.local, or {}",
                                       who, instead));
    if (run.keeps_residual())
        throw source.error("upload",
                           fmt::format("'error_feedback' stores a remainder of each client, but the server's own update, which "
                                       "{} needs, has none; remove error_feedback, or {}",
                                       who, instead));
}

/// Clients must not train on the server's examples.
void check_examples(const RunConfig& run, const ConfigSource& source) {
    const clients::PartitionScheme& scheme = clients::partition_scheme(run.data.partition.scheme);
    if (scheme.by_number)
        throw source.error("data.root_examples",
                           fmt::format("scheme '{}' gives every example to its client by number, so none can be drawn for the "
                                       "server; use another scheme, or remove root_examples",
                                       scheme.name));
    const ModeSpec& mode = mode_spec(run.mode.name);
    const auto cohort = static_cast<std::size_t>(run.cohort_size());
    if (mode.build({.values = completed(run.mode.values, mode.keys), .cohort = cohort}).pass != PassExamples::Own)
        throw source.error(
            "data.root_examples",
            fmt::format("in mode {} every client trains on all examples, so none can be the server's alone; remove "
                        "the key, or use a mode whose clients train on their own examples",
                        mode.name));
}

}  // namespace

std::string aggregators_with_root() {
    std::vector<std::string> names;
    for (const aggregation::AggregatorSpec& rule : aggregation::aggregator_catalog())
        if (rule.root) names.push_back(rule.name);
    return fmt::format("{}", fmt::join(names, ", "));
}

std::string who_needs_root(const RunConfig& run) {
    const std::string& rule = run.strategy.parts.aggregator.name;
    return rule == kFormulaWithRoot ? fmt::format("method '{}'", run.strategy.title()) : fmt::format("aggregator '{}'", rule);
}

void check_root(const RunConfig& run, const StrategySpec& strategy, const ConfigSource& source) {
    if (run.data.root_examples) check_examples(run, source);
    const aggregation::AggregatorSpec& rule = aggregation::aggregator_spec(run.strategy.parts.aggregator.name);
    if (!rule.root) return;
    const bool by_file = rule.name == kFormulaWithRoot;
    if (!run.data.root_examples)
        throw source.error(
            by_file                            ? "strategy.file"
            : rule.name == strategy.aggregator ? "strategy.name"
                                               : "strategy.aggregator",
            fmt::format("{} compares updates with one that the server trains on its own examples, but the server "
                        "has none; set data.root_examples to 100, or another number from 1 on",
                        who_needs_root(run)));
    check_state(run, source);
}

}  // namespace fedhive::sim
