#include "sim/config/upload_rules.h"

#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/aggregator.h"
#include "clients/uploads/upload.h"
#include "sim/modes/mode_spec.h"
#include "sim/strategies/local_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace fedhive::sim {

namespace {

/// A residual belongs to one client, and must be settled by the end of the round in which its update arrives.
void check_residual(const RunConfig& run, const ConfigSource& source) {
    if (!run.keeps_residual()) return;
    if (!mode_spec(run.mode.name).whole_cohort)
        throw source.error("upload", fmt::format("'error_feedback' does not work in mode '{}', which can ask a client again "
                                                 "before its stored remainder is updated; allowed: synchronous",
                                                 run.mode.name));
    if (run.training.least_per_slot() > 1)
        throw source.error(run.training.clients_per_slot ? "training.clients_per_slot" : "training.clients_at_once",
                           "'error_feedback' stores a remainder for every single client; allowed: 1");
}

/// The norm moves once for the clients of a round, which all had the same.
void check_adaptive_clip(const RunConfig& run, const std::function<void(const std::string&)>& refuse) {
    std::size_t found = 0;
    for (std::size_t i = 0; i < run.upload.size(); ++i) {
        if (!entry_of(clients::upload_catalog(), run.upload[i].name, "step of an upload").adapts) continue;
        if (!mode_spec(run.mode.name).whole_cohort)
            refuse(
                fmt::format("item {}: '{}' moves its norm when a round's clients have arrived, but in mode '{}' a server step "
                            "also takes clients of other rounds; allowed: synchronous, or clip in its place",
                            i, run.upload[i].name, run.mode.name));
        if (found++ > 0)
            refuse(fmt::format("item {}: a second '{}'; allowed: one, which has the round's only norm", i, run.upload[i].name));
    }
}

/// A step that takes the norm of a clip needs a fixed norm: an adaptive clip tells the server something of each update.
void check_clip_before(const RunConfig& run, const std::function<void(const std::string&)>& refuse) {
    const clients::UploadSpec* clip = nullptr;
    for (std::size_t i = 0; i < run.upload.size(); ++i) {
        const auto& spec = entry_of(clients::upload_catalog(), run.upload[i].name, "step of an upload");
        if (spec.needs_clip && clip == nullptr)
            refuse(fmt::format("item {}: '{}' takes the norm of a clip step before it; add {{name: clip, norm: ...}} before it",
                               i, spec.name));
        if (spec.needs_clip && clip->adapts)
            refuse(fmt::format("item {}: '{}' would hide what '{}' tells the server of each update; use clip in its place", i,
                               spec.name, clip->name));
        if (spec.bounds) clip = &spec;
    }
}

/// A noise guarantee holds for the sum of all updates, as the server sees it.
void check_noise(const RunConfig& run, const ConfigSource& source, const std::function<void(const std::string&)>& refuse) {
    const auto spec_of = [](const Chosen& step) -> const clients::UploadSpec& {
        return entry_of(clients::upload_catalog(), step.name, "step of an upload");
    };
    const auto noise = std::ranges::find_if(run.upload, [&](const Chosen& step) { return spec_of(step).noise_of_sum; });
    if (noise == run.upload.end()) return;
    const auto place = static_cast<std::size_t>(noise - run.upload.begin());
    for (const Chosen& step : run.upload)
        if (spec_of(step).shrink != nullptr)
            refuse(fmt::format("'{}' would remove some of the noise that '{}' must add to the sum; remove one of them",
                               step.name, noise->name));
    if (std::none_of(run.upload.begin(), noise, [&](const Chosen& step) { return spec_of(step).bounds; }))
        refuse(
            fmt::format("item {}: '{}' scales its noise by the clipping norm, but no clip step comes before it; add {{name: "
                        "clip, norm: ...}} before it",
                        place, noise->name));
    if (noise + 1 != run.upload.end())
        refuse(fmt::format("item {}: '{}' must not follow '{}', because it would change the noise; move it before", place + 1,
                           (noise + 1)->name, noise->name));
    if (run.strategy.weighting != Weighting::Uniform)
        throw source.error(
            "strategy.weighting",
            fmt::format("upload step '{}' needs equal weights for its noise scale; allowed: uniform", noise->name));
    if (aggregation::aggregator_spec(run.strategy.parts.aggregator.name).single_updates)
        throw source.error("strategy.aggregator", fmt::format("upload step '{}' adds only a share of the noise to each update, "
                                                              "but aggregator '{}' uses single updates; allowed: mean",
                                                              noise->name, run.strategy.parts.aggregator.name));
}

/// If client and server need the same update, the chain may delay parts of it, but not change them. Memories sent beside an update get no noise.
void check_client_memories(const RunConfig& run, const std::string& keeps_state,
                           const std::function<void(const std::string&)>& refuse) {
    const auto spec_of = [](const Chosen& step) -> const clients::UploadSpec& {
        return entry_of(clients::upload_catalog(), step.name, "step of an upload");
    };
    const LocalRuleSpec& rule = local_rule_of(parts_of(run.strategy.name, run.strategy.parts));
    if (!rule.goes_by_one_update.empty() && !spec_of(run.upload.front()).keeps_residual())
        refuse(
            fmt::format("item 0: {} needs the same update at clients and server, since {}, but '{}' changes what the server "
                        "receives; allowed as the first step: error_feedback, which stores what later steps drop or round off",
                        keeps_state, rule.goes_by_one_update, run.upload.front().name));
    for (const Chosen& step : run.upload)
        if (!rule.sends_beside.empty() && (spec_of(step).noise_of_sum || spec_of(step).hides))
            refuse(
                fmt::format("{} makes clients send {} beside their updates, which would reveal what '{}' hides; remove one of "
                            "the two",
                            keeps_state, rule.sends_beside, step.name));
}

}  // namespace

void check_compression(const std::vector<Chosen>& steps, const std::function<void(const std::string&)>& refuse) {
    std::string compressed, rounded;
    bool waits = false;  // for a step that leaves a residual
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const auto& spec = entry_of(clients::upload_catalog(), steps[i].name, "step of an upload");
        const bool compresses = spec.shrink != nullptr;
        if (waits && !compresses)
            refuse(
                fmt::format("item {}: '{}' must not follow 'error_feedback', which stores what later steps drop or round off; "
                            "move it before error_feedback",
                            i, spec.name));
        if (!compressed.empty() && !compresses)
            refuse(
                fmt::format("item {}: '{}' must not follow '{}', because it would change the compressed update; move it before",
                            i, spec.name, compressed));
        if (!compressed.empty() && spec.leaves_out)
            refuse(fmt::format("item {}: '{}' drops values, so no step before it may compress; remove '{}', or move it after",
                               i, spec.name, compressed));
        if (!rounded.empty() && compresses)
            refuse(fmt::format("item {}: '{}' has already rounded the update; remove '{}'", i, rounded, spec.name));
        if (compresses) compressed = spec.name;
        if (compresses && (!spec.leaves_out || spec.rounds)) rounded = spec.name;
        waits = spec.keeps_residual();
    }
    if (waits) refuse("'error_feedback' stores what later steps drop or round off, but no such step follows; add one after it");
}

void check_upload(const RunConfig& run, const std::string& keeps_state, const ConfigSource& source) {
    if (run.upload.empty()) return;
    const auto refuse = [&](const std::string& problem) { throw source.error("upload", problem); };
    const std::vector<std::string> modes = modes_with_clients_alone();
    if (std::find(modes.begin(), modes.end(), run.mode.name) == modes.end())
        refuse(fmt::format("in mode '{}' clients do not send their own updates; remove upload, or use mode {}", run.mode.name,
                           fmt::join(modes, " or ")));
    check_client_memories(run, keeps_state, refuse);
    if (run.upload.size() > clients::UploadPlan::kMostSteps)
        refuse(fmt::format("has {} steps; allowed: at most {}", run.upload.size(), clients::UploadPlan::kMostSteps));
    check_residual(run, source);
    check_adaptive_clip(run, refuse);
    check_clip_before(run, refuse);
    check_noise(run, source, refuse);
    check_compression(run.upload, refuse);
}

}  // namespace fedhive::sim
