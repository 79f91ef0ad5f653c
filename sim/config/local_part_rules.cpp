#include "sim/config/local_part_rules.h"

#include "sim/modes/mode_spec.h"

#include <fmt/format.h>

namespace fedhive::sim {

namespace {

/// There is no final global model to evaluate, only the clients' models.
void check_how_it_is_judged(const RunConfig& run, const ConfigSource& source) {
    if (!run.evaluation.clients.every)
        throw source.error(
            "evaluation.clients.every",
            "with model.local there is no model but the clients', and none of them would be evaluated; give it a "
            "number of rounds, and data.partition.holdout the share of its examples that each holds out, such as 0.2");
    for (const auto& [metric, target] : run.stop.test)
        if (target)
            throw source.error("stop.test_" + metric,
                               "with model.local there is no model to be tested on the test set, but the "
                               "clients' on what each holds out; allowed: left out");
}

}  // namespace

void check_local_part(const RunConfig& run, const ConfigSource& source) {
    if (!run.model.has_local_part()) return;
    if (!mode_spec(run.mode.name).whole_cohort)
        throw source.error("mode.name", fmt::format("in mode '{}' no client trains a model of its own from round to round, as "
                                                    "model.local has it; allowed: synchronous",
                                                    run.mode.name));
    if (run.training.least_per_slot() > 1)
        throw source.error(run.training.clients_per_slot ? "training.clients_per_slot" : "training.clients_at_once",
                           "model.local has every client begin with a model of its own; allowed: 1");
    check_how_it_is_judged(run, source);
}

}  // namespace fedhive::sim
