#include "sim/config/tree_noise_rules.h"

#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/server/catalog.h"
#include "clients/uploads/upload.h"
#include "sim/strategies/local_rule.h"

#include <fmt/format.h>

#include <algorithm>

namespace fedhive::sim {

namespace {

constexpr const char* kRestartEvery = "restart_every";

/// Rounds in which round_robin asks no client twice.
std::int64_t rounds_of_epoch(const RunConfig& run) { return run.num_clients() / std::max<std::int64_t>(1, run.cohort_size()); }

/// The sum of a round's updates moves by at most the norm of clip if a client's update becomes 0.
void check_tree_chain(const RunConfig& run, const std::string& who, const ConfigSource& source) {
    const auto spec_of = [](const Chosen& step) -> const clients::UploadSpec& {
        return entry_of(clients::upload_catalog(), step.name, "step of an upload");
    };
    for (std::size_t i = 0; i < run.upload.size(); ++i) {
        const clients::UploadSpec& step = spec_of(run.upload[i]);
        if (step.noise_of_sum)
            throw source.error("upload", fmt::format("item {}: '{}' adds noise, but {} already does; remove one of the two", i,
                                                     step.name, who));
        if (step.adapts)
            throw source.error("upload",
                               fmt::format("item {}: '{}' changes the norm from round to round, but {} needs one for all "
                                           "rounds of a tree; allowed: clip",
                                           i, step.name, who));
    }
    if (run.upload.empty() || !spec_of(run.upload.back()).bounds)
        throw source.error("upload",
                           fmt::format("{} scales its noise by the clipping norm, so the chain must end with clip{}; add "
                                       "{{name: clip, norm: 1}} at its end",
                                       who, run.upload.empty() ? "" : fmt::format(", not '{}'", run.upload.back().name)));
}

}  // namespace

bool has_tree_noise(const RunConfig& run) {
    return aggregation::server_optimizer_spec(run.strategy.parts.server.name).tree_noise;
}

std::int64_t restart_every(const RunConfig& run) {
    const KeyValue* given = run.strategy.parts.server.values.find(kRestartEvery);
    const std::optional<std::int64_t> rounds =
        given != nullptr ? run.strategy.parts.server.values.optional_integer(kRestartEvery) : std::nullopt;
    return rounds.value_or(std::max<std::int64_t>(1, rounds_of_epoch(run)));
}

std::optional<NoiseTree> noise_tree_of(const RunConfig& run) {
    if (!has_tree_noise(run)) return std::nullopt;
    return NoiseTree{.multiplier = run.strategy.parts.server.values.optional_number("noise_multiplier").value(),
                     .restart_every = static_cast<std::uint64_t>(restart_every(run))};
}

void check_tree_noise(const RunConfig& run, const ConfigSource& source) {
    if (!has_tree_noise(run)) return;
    const std::string who = fmt::format("server '{}'", run.strategy.parts.server.name);
    check_tree_chain(run, who, source);
    if (run.strategy.weighting != Weighting::Uniform)
        throw source.error("strategy.weighting",
                           fmt::format("{} needs equal weights for its noise scale; allowed: uniform", who));
    if (aggregation::aggregator_spec(run.strategy.parts.aggregator.name).single_updates)
        throw source.error("strategy.aggregator", fmt::format("{} adds noise to the sum of updates, but aggregator '{}' uses "
                                                              "single updates; allowed: mean",
                                                              who, run.strategy.parts.aggregator.name));
    if (const LocalRuleSpec& rule = local_rule_of(run.strategy.parts); rule.client_state())
        throw source.error(run.strategy.parts.method != nullptr ? "strategy.file" : "strategy.local",
                           fmt::format("local rule '{}' changes the model through the clients' state, without the "
                                       "noise of {}; allowed: plain, prox",
                                       rule.name, who));
    if (run.has_attackers())
        throw source.error("attack.name",
                           fmt::format("clip does not bound the updates of attack '{}', but {} relies on its norm; "
                                       "allowed: none",
                                       run.attack.name, who));
    if (!run.data.partition.clients && !run.strategy.parts.server.values.optional_integer(kRestartEvery))
        throw source.error("strategy.restart_every",
                           "is missing; auto needs data.partition.clients; allowed: a number of rounds");
}

void check_once_a_tree(const RunConfig& run, const ConfigSource& source) {
    const std::int64_t most = rounds_of_epoch(run);
    if (restart_every(run) <= most || most == 0) return;
    throw source.error(
        "strategy.restart_every",
        fmt::format("{} rounds with {} of {} clients each ask some client twice; with privacy a client takes part "
                    "only once in a tree; allowed: 1 to {}, or auto",
                    restart_every(run), run.cohort_size(), run.num_clients(), most));
}

}  // namespace fedhive::sim
