#include "sim/config/privacy.h"

#include "clients/uploads/upload.h"
#include "sim/config/tree_noise_rules.h"
#include "sim/modes/mode_spec.h"
#include "sim/selection/sampler.h"

#include <fmt/format.h>

#include <algorithm>

namespace fedhive::sim {

namespace {

constexpr const char* kMultiplier = "multiplier";
constexpr const char* kCountNoise = "count_noise";

const clients::UploadSpec& spec_of(const Chosen& step) {
    return entry_of(clients::upload_catalog(), step.name, "step of an upload");
}

/// The first place in the chain of a step with that property; the chain's size if there is none.
std::size_t place_of(const RunConfig& run, bool clients::UploadSpec::*property) {
    const auto has_it = [&](const Chosen& step) { return spec_of(step).*property; };
    return static_cast<std::size_t>(std::ranges::find_if(run.upload, has_it) - run.upload.begin());
}

/// Of gaussian_noise.
std::size_t noise_place(const RunConfig& run) { return place_of(run, &clients::UploadSpec::noise_of_sum); }

/// Of adaptive_clip.
std::size_t adapting_place(const RunConfig& run) { return place_of(run, &clients::UploadSpec::adapts); }

/// The noise: of a step of the chain, or of the server's tree.
const Values& noise_of(const RunConfig& run) {
    return has_tree_noise(run) ? run.strategy.parts.server.values : run.upload.at(noise_place(run)).values;
}
const char* multiplier_key(const RunConfig& run) { return has_tree_noise(run) ? "noise_multiplier" : kMultiplier; }
std::optional<double> given_multiplier(const RunConfig& run) { return noise_of(run).optional_number(multiplier_key(run)); }

double share_of(const RunConfig& run) {
    if (has_tree_noise(run)) return 1.0;
    return static_cast<double>(run.cohort_size()) / static_cast<double>(run.num_clients());
}

std::uint64_t rounds_of(const RunConfig& run) { return compositions_of(run, static_cast<std::uint64_t>(run.rounds)); }

/// The multiplier: as given, 1, or the least with which privacy.epsilon holds; empty if there is none.
std::optional<double> multiplier_to_be(const RunConfig& run) {
    const std::optional<double> given = given_multiplier(run);
    if (given || !run.privacy.epsilon) return given.value_or(1.0);
    if (!run.privacy.delta || run.cohort_size() > run.num_clients()) return std::nullopt;
    return multiplier_for(*run.privacy.epsilon, *run.privacy.delta, share_of(run), rounds_of(run));
}

/// The bound of an update is the sensitivity of the sum: nothing may change the update between it and the noise.
void check_chain(const RunConfig& run, const ConfigSource& source) {
    const std::optional<double> of_tree = has_tree_noise(run) ? given_multiplier(run) : std::nullopt;
    if (of_tree.value_or(1.0) < kLeastMultiplier)
        throw source.error("strategy.noise_multiplier",
                           fmt::format("{} is almost no noise; allowed with privacy: {} or more", *of_tree, kLeastMultiplier));
    if (has_tree_noise(run)) return;  // tree_noise_rules.h has checked it
    const std::size_t place = noise_place(run);
    if (place == run.upload.size())
        throw source.error("privacy",
                           "no noise hides the updates; add upload: [{name: clip, norm: 1}, {name: gaussian_noise}]");
    if (place > 0 && !spec_of(run.upload[place - 1]).bounds)
        throw source.error("upload",
                           fmt::format("item {}: with privacy the step before '{}' must be clip or adaptive_clip, because the "
                                       "accountant uses the clipping norm, but it is '{}'; move clip there",
                                       place, run.upload[place].name, run.upload[place - 1].name));
    const std::optional<double> given = run.upload[place].values.optional_number(kMultiplier);
    if (given.value_or(1.0) < kLeastMultiplier)
        throw source.error("upload", fmt::format("item {}: multiplier {} is almost no noise; allowed with privacy: {} or more",
                                                 place, *given, kLeastMultiplier));
}

/// Each client takes part in a round with the same probability, whatever it has and did.
void check_participation(const RunConfig& run, const ConfigSource& source) {
    const std::string wrong = fmt::format(
        "with privacy every client must {}, but {{}}; allowed: {{}}; docs/privacy.md says what "
        "else can be done",
        has_tree_noise(run) ? "take part at most once in a tree" : "be equally likely in every round");
    const auto refuse = [&](const char* key, const std::string& why, const std::string& allowed) {
        throw source.error(key, fmt::format(fmt::runtime(wrong), why, allowed));
    };
    if (!mode_spec(run.mode.name).whole_cohort)
        refuse("mode.name",
               fmt::format("in mode '{}' the speed of clients decides which of them are in a server step", run.mode.name),
               "synchronous");
    if (!run.waits_for_all()) refuse("mode.quorum", "the fastest of the cohort count", "leave quorum out");
    const std::string sampler = has_tree_noise(run) ? "round_robin" : RunConfig().sampling.name;
    if (run.sampling.name != sampler)
        refuse("sampling.name", fmt::format("sampler '{}' chooses in another way", run.sampling.name), sampler);
    const std::string& scheme = run.devices.availability.scheme;
    if (run.clock == Clock::Virtual && scheme != AvailabilityConfig().scheme)
        refuse("devices.availability.scheme", fmt::format("with '{}' clients are unavailable at times", scheme),
               AvailabilityConfig().scheme);
    if (run.failures.max_update_norm)
        throw source.error("failures.max_update_norm",
                           "refuses an update by its values, which the accountant cannot count; remove it: clip bounds "
                           "the norm");
    if (!run.data.partition.clients)
        throw source.error("data.partition.clients",
                           "is missing; with privacy the number of clients must be known before the data are read; fedhive "
                           "partition prints it");
}

void check_budget(const RunConfig& run, const ConfigSource& source) {
    const double target = *run.privacy.epsilon, delta = *run.privacy.delta, share = share_of(run);
    const std::optional<double> given = given_multiplier(run);
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
        fmt::format("{}: {:.4f} with multiplier {} of {}; {}, or fewer rounds", what, reached, multiplier,
                    has_tree_noise(run) ? "strategy.noise_multiplier" : fmt::format("upload item {}", noise_place(run)),
                    enough ? fmt::format("allowed multiplier: {} or more", *enough) : "no multiplier is enough"));
}

/// The count of updates within the norm costs no more than what the multiplier says of both.
void check_count_noise(const RunConfig& run, const ConfigSource& source) {
    const std::size_t noise = noise_place(run), clip = adapting_place(run);
    if (noise == run.upload.size() || clip == run.upload.size()) return;
    const std::optional<double> given = run.upload[clip].values.optional_number(kCountNoise);
    if (!given) return;
    const std::optional<double> multiplier = multiplier_to_be(run);
    if (!multiplier || multiplier_beside_count(*multiplier, *given)) return;  // no multiplier: refused already
    throw source.error("upload", fmt::format("item {}: count_noise {} is too small for multiplier {} of item {}; the count of "
                                             "updates within the norm needs more noise; allowed: above {}, or auto",
                                             clip, *given, *multiplier, noise, *multiplier / 2.0));
}

void check_accountant(const RunConfig& run, const ConfigSource& source) {
    if (!run.privacy.delta)
        throw source.error("privacy.delta",
                           "is missing; an ε has no meaning without it; allowed: above 0, below 1, well below 1 "
                           "/ clients");
    check_chain(run, source);
    check_participation(run, source);
    if (has_tree_noise(run)) check_once_a_tree(run, source);
    const std::int64_t cohort = run.cohort_size();
    if (run.privacy.epsilon && cohort <= run.num_clients()) check_budget(run, source);
}

}  // namespace

SampledGaussian mechanism_of(const RunConfig& run) { return {share_of(run), given_multiplier(run).value()}; }

std::uint64_t compositions_of(const RunConfig& run, std::uint64_t rounds) {
    return has_tree_noise(run) ? tree_nodes(rounds, static_cast<std::uint64_t>(restart_every(run))) : rounds;
}

void check_privacy(const RunConfig& run, const ConfigSource& source) {
    if (run.privacy.wanted()) check_accountant(run, source);
    check_count_noise(run, source);
}

void settle_noise(RunConfig& run) {
    const std::size_t noise = noise_place(run), clip = adapting_place(run);
    const bool noisy = noise < run.upload.size(), tree = has_tree_noise(run);
    Values* const values = tree ? &run.strategy.parts.server.values : noisy ? &run.upload[noise].values : nullptr;
    if (values != nullptr) {
        const std::optional<double> number = multiplier_to_be(run);
        FEDHIVE_CHECK(number, "no multiplier gives epsilon {}", run.privacy.epsilon.value_or(0.0));
        values->set(multiplier_key(run), number);
    }
    if (tree) values->set("restart_every", std::optional(restart_every(run)));
    if (clip == run.upload.size() || run.upload[clip].values.optional_number(kCountNoise)) return;
    constexpr double kOfCohort = 1.0 / 20.0;  // section 3.1 of the paper
    const double number = noisy ? std::max(kOfCohort * static_cast<double>(run.cohort_size()),
                                           run.upload[noise].values.optional_number(kMultiplier).value())
                                : 0.0;
    run.upload[clip].values.set(kCountNoise, std::optional(number));
}

double multiplier_of_updates(const RunConfig& run) {
    const double multiplier = run.upload.at(noise_place(run)).values.optional_number(kMultiplier).value();
    const std::size_t clip = adapting_place(run);
    if (clip == run.upload.size()) return multiplier;
    const double count_noise = run.upload[clip].values.optional_number(kCountNoise).value();
    const std::optional<double> more = multiplier_beside_count(multiplier, count_noise);
    FEDHIVE_CHECK(more, "count_noise {} beside multiplier {}", count_noise, multiplier);
    return *more;
}

}  // namespace fedhive::sim
