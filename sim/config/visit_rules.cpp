#include "sim/config/visit_rules.h"

#include "aggregation/cohort/aggregator_catalog.h"
#include "sim/config/root_rules.h"
#include "sim/modes/mode_spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

namespace fedhive::sim {

namespace {

/// Refuses keys of local training: the function does that work itself.
void check_what_a_visit_does(const RunConfig& run, const std::string& visit, const ConfigSource& source) {
    const auto refuse = [&](const std::string& key, const std::string& problem) {
        throw source.error(key, fmt::format("{} {}", visit, problem));
    };
    if (const std::string& local = run.strategy.parts.local.name;
        local != "plain" && !(local == kFormula && run.strategy.parts.visits_by_method()))
        refuse(
            run.strategy.parts.method != nullptr ? "strategy.file" : "strategy.local",
            fmt::format("trains the clients itself, so local rule '{}' of strategy '{}' would do nothing; write the rule into "
                        "the visit, or choose a strategy whose local rule is plain, such as fedavg",
                        local, run.strategy.title()));
    if (run.training.clip_norm) refuse("training.clip_norm", "takes its steps itself; clip in the visit, and remove this key");
    if (run.training.clients_at_once > 1) refuse("training.clients_at_once", "trains one client at a time; allowed: 1");
    if (run.training.precision != clients::Precision::F32)
        refuse("training.precision", "computes in what it chooses, on parameters in f32; allowed: f32");
    if (run.data.augment.crop_padding > 0 || run.data.augment.flip != Flip::None)
        refuse("data.augment", "gets the examples unchanged; augment in the visit, and remove this key");
    if (!run.model.frozen.empty())
        refuse("model.frozen", "gets all parameters of the model; leave some unchanged in the visit, and remove this key");
    if (run.evaluation.clients.personalized)
        refuse("evaluation.clients.personalized",
               "is not run for an evaluation, so no epoch can be trained before it; allowed: false");
}

}  // namespace

void check_visit(const RunConfig& run, const ConfigSource& source) {
    const VisitFile* const visit = run.strategy.parts.visit.get();
    if (visit == nullptr) return;
    const std::string who = fmt::format("{} ({})", visit->key, visit->file.filename().string());
    const std::vector<std::string> modes = modes_with_clients_alone();
    if (std::ranges::find(modes, run.mode.name) == modes.end())
        throw source.error("mode.name", fmt::format("{} trains a client alone, which mode '{}' does not; allowed: {}", who,
                                                    run.mode.name, fmt::join(modes, ", ")));
    check_what_a_visit_does(run, who, source);
    if (!run.strategy.visits_keep()) return;
    const auto refuse = [&](const std::string& key, const std::string& problem) {
        throw source.error(key, fmt::format("{} keeps memories of each client, {}", who, problem));
    };
    if (!mode_spec(run.mode.name).whole_cohort)
        refuse("mode.name", fmt::format("which mode '{}' does not have; allowed: synchronous", run.mode.name));
    if (run.training.least_per_slot() > 1)
        refuse("training.clients_per_slot", "so every client needs a slot of its own; allowed: 1");
    if (const auto& rule = aggregation::aggregator_spec(run.strategy.parts.aggregator.name); rule.root)
        refuse("strategy.aggregator", fmt::format("but the server's own client, which {} needs, has none; choose "
                                                  "another aggregator",
                                                  who_needs_root(run)));
    const bool by_class =
        std::ranges::any_of(visit->memory, [](const auto& one) { return one.shape == aggregation::MemoryShape::Classes; });
    if (by_class && run.task == "regression")
        refuse("task", "one of them by class, but examples of task 'regression' have none; give it another shape");
}

}  // namespace fedhive::sim
