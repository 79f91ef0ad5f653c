#include "sim/config/privacy.h"

#include "clients/uploads/upload.h"
#include "sim/modes/mode_spec.h"
#include "sim/selection/sampler.h"

#include <fmt/format.h>

#include <algorithm>

namespace fedhive::sim {

namespace {

constexpr const char* kMultiplier = "multiplier";

const clients::UploadSpec& spec_of(const Chosen& step) {
    return entry_of(clients::upload_catalog(), step.name, "step of an upload");
}

/// The chain's place of gaussian_noise; its size if there is none.
std::size_t noise_place(const RunConfig& run) {
    const auto is_noise = [](const Chosen& step) { return spec_of(step).noise_of_sum; };
    return static_cast<std::size_t>(std::ranges::find_if(run.upload, is_noise) - run.upload.begin());
}

double share_of(const RunConfig& run) {
    return static_cast<double>(run.cohort_size()) / static_cast<double>(run.num_clients());
}

std::uint64_t rounds_of(const RunConfig& run) { return static_cast<std::uint64_t>(run.rounds); }

/// The bound of an update is the sensitivity of the sum: nothing may change the update between it and the noise.
void check_chain(const RunConfig& run, const ConfigSource& source) {
    const std::size_t place = noise_place(run);
    if (place == run.upload.size())
        throw source.error("privacy",
                           "no noise hides the updates; add upload: [{name: clip, norm: 1}, {name: gaussian_noise}]");
    if (place > 0 && !spec_of(run.upload[place - 1]).bounds)
        throw source.error("upload", fmt::format("item {}: with privacy the step before '{}' must be clip, whose norm the "
                                                 "accountant goes by, not '{}'; move clip behind it",
                                                 place, run.upload[place].name, run.upload[place - 1].name));
    const std::optional<double> given = run.upload[place].values.optional_number(kMultiplier);
    if (given.value_or(1.0) < kLeastMultiplier)
        throw source.error("upload", fmt::format("item {}: multiplier {} is almost no noise; allowed with privacy: {} or more",
                                                 place, *given, kLeastMultiplier));
}

/// Each client takes part in a round with the same probability, whatever it has and did.
void check_participation(const RunConfig& run, const ConfigSource& source) {
    const std::string wrong =
        "with privacy every client must be equally likely in every round, but {}; allowed: {}; docs/privacy.md says what else "
        "can be done";
    const auto refuse = [&](const char* key, const std::string& why, const std::string& allowed) {
        throw source.error(key, fmt::format(fmt::runtime(wrong), why, allowed));
    };
    if (!mode_spec(run.mode.name).whole_cohort)
        refuse("mode.name", fmt::format("in mode '{}' the clients' speed decides who is in a server step", run.mode.name),
               "synchronous");
    if (!run.waits_for_all()) refuse("mode.quorum", "the fastest of the cohort count", "leave quorum out");
    if (run.sampling.name != RunConfig().sampling.name)
        refuse("sampling.name", fmt::format("sampler '{}' chooses otherwise", run.sampling.name), RunConfig().sampling.name);
    const std::string& scheme = run.devices.availability.scheme;
    if (run.clock == Clock::Virtual && scheme != AvailabilityConfig().scheme)
        refuse("devices.availability.scheme", fmt::format("with '{}' clients are away at times", scheme),
               AvailabilityConfig().scheme);
    if (run.failures.max_update_norm)
        throw source.error("failures.max_update_norm",
                           "refuses an update by its values, which the accountant cannot account for; remove it, clip bounds "
                           "the norm");
    if (!run.data.partition.clients)
        throw source.error("data.partition.clients",
                           "is missing; with privacy the number of clients must be known before the data are read; fedhive "
                           "partition says it");
}

void check_budget(const RunConfig& run, const ConfigSource& source) {
    const double target = *run.privacy.epsilon, delta = *run.privacy.delta, share = share_of(run);
    const std::size_t place = noise_place(run);
    const std::optional<double> given = run.upload[place].values.optional_number(kMultiplier);
    const double multiplier = given.value_or(kMostMultiplier);
    const double reached = PrivacyAccountant({share, multiplier}, delta).epsilon(rounds_of(run));
    if (within(reached, target)) return;
    const std::string what = fmt::format("{} is less than the ε after {} rounds", target, run.rounds);
    if (!given)
        throw source.error("privacy.epsilon",
                           fmt::format("{} with any noise; allowed with these rounds, cohort and delta: {} or more", what,
                                       least_epsilon(delta, share, rounds_of(run))));
    const std::optional<double> enough = multiplier_for(target, delta, share, rounds_of(run));
    throw source.error(
        "privacy.epsilon",
        fmt::format("{}: {:.4f} with multiplier {} of upload item {}; {}, or fewer rounds", what, reached, multiplier, place,
                    enough ? fmt::format("allowed multiplier: {} or more", *enough) : "no multiplier is enough"));
}

}  // namespace

SampledGaussian mechanism_of(const RunConfig& run) {
    return {share_of(run), run.upload.at(noise_place(run)).values.optional_number(kMultiplier).value()};
}

void check_privacy(const RunConfig& run, const ConfigSource& source) {
    if (!run.privacy.wanted()) return;
    if (!run.privacy.delta)
        throw source.error("privacy.delta",
                           "is missing; an ε has no meaning without it; allowed: above 0, below 1, well below 1 "
                           "/ clients");
    check_chain(run, source);
    check_participation(run, source);
    const std::int64_t cohort = run.cohort_size();
    if (run.privacy.epsilon && cohort <= run.num_clients()) check_budget(run, source);
}

void settle_noise(RunConfig& run) {
    const std::size_t place = noise_place(run);
    if (place == run.upload.size()) return;
    Values& values = run.upload[place].values;
    if (values.optional_number(kMultiplier)) return;
    std::optional<double> number = 1.0;
    if (run.privacy.epsilon) {
        number = multiplier_for(*run.privacy.epsilon, *run.privacy.delta, share_of(run), rounds_of(run));
        FEDHIVE_CHECK(number, "no multiplier gives epsilon {}", *run.privacy.epsilon);
    }
    values.set(kMultiplier, number);
}

}  // namespace fedhive::sim
