#include "sim/config/sampling_rules.h"

#include "aggregation/cohort/aggregator_catalog.h"
#include "clients/tasks/learning_task.h"
#include "clients/uploads/upload.h"
#include "sim/modes/mode_spec.h"
#include "sim/selection/sampler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

namespace fedhive::sim {

namespace {

/// The aggregators that a client's weight reaches.
std::vector<std::string> aggregators_by_weight() {
    std::vector<std::string> names;
    for (const aggregation::AggregatorSpec& rule : aggregation::aggregator_catalog())
        if (rule.weighs) names.push_back(rule.name);
    return names;
}

/// A client that was drawn several times trains once, and its update's weight is multiplied.
void check_repeats(const RunConfig& run, const ConfigSource& source) {
    const std::string& sampler = run.sampling.name;
    if (!run.waits_for_all())
        throw source.error(
            run.mode.quorum() ? "mode.quorum" : "sampling.name",
            fmt::format("sampler '{}' may draw a client several times, which counts only where a round waits for its whole "
                        "cohort; use mode synchronous without a quorum, or another sampler",
                        sampler));
    if (run.strategy.client_state())
        throw source.error("strategy.name", fmt::format("strategy '{}' averages its clients' state with equal weights, but "
                                                        "sampler '{}' may draw a client several times; use another sampler",
                                                        run.strategy.title(), sampler));
    const std::string& server = run.strategy.parts.server.name;
    if (server == "dp_ftrl")
        throw source.error("strategy.server",
                           fmt::format("server '{}' bounds how much one client counts in the sum, but sampler "
                                       "'{}' may draw it several times; use another sampler",
                                       server, sampler));
    if (const auto& method = run.strategy.parts.method; method != nullptr && method->equal_weights)
        throw source.error("strategy.file",
                           fmt::format("the server of {} uses means with equal weights, but sampler '{}' may draw "
                                       "a client several times; use another sampler",
                                       method->file.string(), sampler));
    const aggregation::AggregatorSpec& rule = aggregation::aggregator_spec(run.strategy.parts.aggregator.name);
    if (!rule.weighs)
        throw source.error("strategy.aggregator",
                           fmt::format("aggregator '{}' does not count a client as often as sampler '{}' draws it; allowed "
                                       "with this sampler: {}",
                                       rule.name, sampler, fmt::join(aggregators_by_weight(), ", ")));
    for (const Chosen& step : run.upload)
        if (entry_of(clients::upload_catalog(), step.name, "step of an upload").noise_of_sum)
            throw source.error("upload", fmt::format("'{}' bounds how much one client counts in the sum, but sampler '{}' may "
                                                     "draw it several times; use another sampler",
                                                     step.name, sampler));
}

}  // namespace

void check_sampling(const RunConfig& run, const ConfigSource& source) {
    const std::string& sampler = run.sampling.name;
    const SamplerSpec& spec = sampler_spec(sampler);
    const ModeSpec& mode = mode_spec(run.mode.name);
    if (mode.all_clients && sampler != RunConfig().sampling.name)
        throw source.error("sampling.name",
                           fmt::format("in mode {} all clients work together in every round, so '{}' has no choice; "
                                       "allowed: {}",
                                       mode.name, sampler, RunConfig().sampling.name));
    if (spec.by_labels && clients::learning_task(run.task).targets != std::vector{clients::TargetKind::Class})
        throw source.error("sampling.name",
                           fmt::format("'{}' uses the clients' class labels, which task '{}' does not have; use "
                                       "another sampler, or task classification",
                                       sampler, run.task));
    if (spec.repeats) check_repeats(run, source);
    if (spec.check == nullptr) return;
    if (const auto problem = spec.check(run.sampling.values, run.num_clients(), run.cohort_size()))
        throw source.error(fmt::format("sampling.{}", problem->key), problem->text);
}

}  // namespace fedhive::sim
