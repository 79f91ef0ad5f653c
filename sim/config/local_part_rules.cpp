#include "sim/config/local_part_rules.h"

#include "sim/modes/mode_spec.h"

#include <fmt/format.h>

namespace fedhive::sim {

namespace {

/// There is no final global model to evaluate, only the clients' models.
void check_how_it_is_judged(const RunConfig& run, const ConfigSource& source) {
    if (!run.evaluation.clients.every)
        throw source.error("evaluation.clients.every",
                           "with model.local only the clients' own models exist, and none would be evaluated; set this to a "
                           "number of rounds, and data.partition.holdout to the share that each client holds out, such as 0.2");
    for (const auto& [metric, target] : run.stop.test)
        if (target)
            throw source.error("stop.test_" + metric,
                               "with model.local no model is evaluated on the test set, only the clients' models on their "
                               "held-out examples; remove this key");
}

}  // namespace

void check_local_part(const RunConfig& run, const ConfigSource& source) {
    if (!run.model.has_local_part()) return;
    if (!mode_spec(run.mode.name).whole_cohort)
        throw source.error("mode.name", fmt::format("model.local needs clients that keep their own model between rounds, which "
                                                    "mode '{}' does not have; allowed: synchronous",
                                                    run.mode.name));
    if (run.training.least_per_slot() > 1)
        throw source.error(run.training.clients_per_slot ? "training.clients_per_slot" : "training.clients_at_once",
                           "with model.local every client begins with its own model; allowed: 1");
    check_how_it_is_judged(run, source);
}

}  // namespace fedhive::sim
