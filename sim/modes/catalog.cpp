#include "sim/modes/mode_spec.h"

namespace fedhive::sim {

// Each is in the file of its name.
ModeSpec synchronous();
ModeSpec semi_async();
ModeSpec async();
ModeSpec gradient_averaging();
ModeSpec parameter_server();
ModeSpec hogwild();
ModeSpec split();

const std::vector<ModeSpec>& mode_catalog() {
    static const std::vector<ModeSpec> catalog = {
        synchronous(), semi_async(), async(), gradient_averaging(), parameter_server(), hogwild(), split(),
    };
    return catalog;
}

const ModeSpec& mode_spec(const std::string& name) { return entry_of(mode_catalog(), name, "mode"); }

namespace {

template <class Runs>
std::vector<std::string> modes_that(const Runs& runs) {
    std::vector<std::string> modes;
    for (const ModeSpec& mode : mode_catalog())
        if (runs(mode)) modes.push_back(mode.name);
    return modes;
}

bool leaves_the_server(const ModeSpec& mode) { return mode.rate_key.empty(); }

bool runs(const ModeSpec& mode, const LocalRuleSpec& local) {
    const bool local_steps = mode.weighs_updates;
    return (!local.client_term || local_steps) && (!local.client_state() || (mode.whole_cohort && leaves_the_server(mode)));
}

/// Clients train alone, from the one model that they are sent, so they can measure it first.
bool trains_alone(const ModeSpec& mode) { return mode.build({.values = completed({}, mode.keys)}).trains_alone(); }

bool runs(const ModeSpec& mode, const aggregation::AggregatorSpec& rule) {
    return (rule.replaceable || leaves_the_server(mode)) && (rule.weighs || !mode.discounts) &&
           (rule.measures.empty() || trains_alone(mode)) && ((!rule.root && !rule.histories) || mode.whole_cohort);
}

bool runs(const ModeSpec& mode, const aggregation::ServerOptimizerSpec& server) {
    return (server.replaceable || leaves_the_server(mode)) && (!server.tree_noise || mode.whole_cohort);
}

/// Formulas of a visit are evaluated where a client trains the whole model by local steps; those of each element alone, where it
/// trains it in parts, too. Numbers of a cohort do not know a discount.
bool runs(const ModeSpec& mode, const Method& method) {
    const bool of_elements = method.formulas.changes_elements() && mode.weighs_updates;
    return (!method.formulas.changes_visits() || trains_alone(mode) || of_elements) &&
           (!method.formulas.reads_sent_loss() || trains_alone(mode)) &&
           (!method.has(aggregation::formulas::Place::Cohort) || !mode.discounts) &&
           (!method.has(aggregation::formulas::Place::Mix) || mode.whole_cohort);
}

}  // namespace

std::vector<std::string> modes_of(const LocalRuleSpec& local) {
    return modes_that([&](const ModeSpec& mode) { return runs(mode, local); });
}

std::vector<std::string> modes_of(const aggregation::AggregatorSpec& rule) {
    return modes_that([&](const ModeSpec& mode) { return runs(mode, rule); });
}

std::vector<std::string> modes_of(const aggregation::ServerOptimizerSpec& server) {
    return modes_that([&](const ModeSpec& mode) { return runs(mode, server); });
}

std::vector<std::string> modes_of(const StrategyParts& parts) {
    return modes_that([&](const ModeSpec& mode) {
        return runs(mode, local_rule_of(parts)) && runs(mode, aggregation::aggregator_spec(parts.aggregator.name)) &&
               runs(mode, aggregation::server_optimizer_spec(parts.server.name)) &&
               (parts.method == nullptr || runs(mode, *parts.method));
    });
}

std::vector<std::string> modes_with_clients_alone() { return modes_that(trains_alone); }

KeySpec quorum_key() {
    return {.name = "quorum",
            .default_value = std::optional<std::int64_t>(),
            .range = between(1, kMost),
            .default_note = "the cohort",
            .doc =
                "Number of arrivals that end a round (K), at most training.cohort. synchronous: later updates are discarded "
                "(over-selection, arXiv:1902.01046: a cohort of 1.3 times the quorum). semi_async: later updates join a later "
                "round; the key is required, typically 10."};
}

std::size_t quorum_of(const ModeInput& input) {
    return static_cast<std::size_t>(input.values.optional_integer("quorum").value_or(static_cast<std::int64_t>(input.cohort)));
}

KeySpec at_end_key() {
    return {.name = "at_end",
            .default_value = AtEnd::Drop,
            .choices = words_of<AtEnd>(),
            .doc =
                "What happens with clients that are still training when the last round ends. drop: their work is lost and "
                "counted in the manifest; drain: the last rounds start only clients that can still arrive."};
}

}  // namespace fedhive::sim
