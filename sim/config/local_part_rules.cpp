#include "sim/config/local_part_rules.h"

#include "clients/uploads/upload.h"
#include "sim/modes/mode_spec.h"

#include <fmt/format.h>

namespace fedhive::sim {

namespace {

/// A client stores one vector, so no other state may be kept; compression counts all of the model's parameters.
void check_what_else_is_kept(const RunConfig& run, const std::string& keeps_state, const ConfigSource& source) {
    if (run.strategy.client_state())
        throw source.error(
            "model.local",
            fmt::format("{} also stores a vector per client, but a client can store only one; remove one of them",
                        keeps_state));
    for (std::size_t i = 0; i < run.upload.size(); ++i) {
        const auto& spec = entry_of(clients::upload_catalog(), run.upload[i].name, "step of an upload");
        if (spec.keeps_residual() || spec.shrink != nullptr)
            throw source.error("upload", fmt::format("item {}: '{}' needs updates of the whole model, but model.local keeps a "
                                                     "part on the client; remove one of them",
                                                     i, spec.name));
    }
}

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

void check_local_part(const RunConfig& run, const std::string& keeps_state, const ConfigSource& source) {
    if (!run.model.has_local_part()) return;
    if (!mode_spec(run.mode.name).whole_cohort)
        throw source.error("mode.name", fmt::format("model.local needs clients that keep their own model between rounds, which "
                                                    "mode '{}' does not have; allowed: synchronous",
                                                    run.mode.name));
    if (run.training.least_per_slot() > 1)
        throw source.error(run.training.clients_per_slot ? "training.clients_per_slot" : "training.clients_at_once",
                           "with model.local every client begins with its own model; allowed: 1");
    check_what_else_is_kept(run, keeps_state, source);
    check_how_it_is_judged(run, source);
}

}  // namespace fedhive::sim
