#include "sim/modes/mode_spec.h"

namespace fedhive::sim {

// Each in the file of its name.
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

std::vector<std::string> modes_of(const StrategySpec& strategy) {
    const bool weighs = aggregation::aggregator_spec(strategy.aggregator).weighs;
    std::vector<std::string> modes;
    for (const ModeSpec& mode : mode_catalog()) {
        const bool local_steps = mode.weighs_updates;
        const bool leaves_the_server = mode.rate_key.empty();
        if ((!strategy.client_term || local_steps) && (!strategy.server_part || leaves_the_server) &&
            (weighs || !mode.discounts) && (!strategy.client_state || mode.whole_cohort))
            modes.push_back(mode.name);
    }
    return modes;
}

KeySpec quorum_key() {
    return {
        .name = "quorum",
        .default_value = std::optional<std::int64_t>(),
        .range = between(1, kMost),
        .default_note = "the cohort",
        .doc =
            "Arrivals that end a round, at most training.cohort. synchronous: who comes later is left behind (over-selection, "
            "arXiv:1902.01046: a cohort of 1.3 times the quorum); semi_async: joins a later round; must be given there, "
            "typically 10 (K)."};
}

std::size_t quorum_of(const ModeInput& input) {
    return static_cast<std::size_t>(input.values.optional_integer("quorum").value_or(static_cast<std::int64_t>(input.cohort)));
}

KeySpec at_end_key() {
    return {.name = "at_end",
            .default_value = "drop",
            .choices = {"drop", "drain"},
            .doc =
                "Clients still on their way when the last round ends. drop: their work is lost, and counted in the manifest; "
                "drain: the last "
                "rounds send nobody who could not arrive any more."};
}

}  // namespace fedhive::sim
