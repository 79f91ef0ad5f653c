#include "sim/app/show_privacy.h"

#include "sim/config/load_config.h"
#include "sim/config/privacy.h"
#include "sim/config/tree_noise_rules.h"

#include <fmt/format.h>

namespace fedhive::sim {

namespace {

ConfigError missing(const char* option, const char* key) {
    return ConfigError(fmt::format("{} is missing; give it, or a config with {}; fedhive privacy -h says more", option, key));
}

/// The options, and for those left out what the config says. --delta stands for its privacy.delta.
PrivacyOptions with_config(PrivacyOptions options) {
    if (options.config.empty()) return options;
    if (options.delta) options.overrides.push_back(fmt::format("privacy.delta={}", *options.delta));
    const RunConfig run = load_config(options.config, options.overrides).run;
    if (!run.privacy.wanted())
        throw ConfigError(fmt::format("{}: privacy.delta: is missing; add privacy: {{delta: 1e-5}}, or give --delta",
                                      options.config.string()));
    const SampledGaussian step = mechanism_of(run);
    if (const std::optional<NoiseTree> tree = noise_tree_of(run)) {
        if (options.share)
            throw ConfigError(
                fmt::format("--share: {}: the noise of '{}' does not depend on the share of clients in a round; leave "
                            "it out",
                            options.config.string(), run.strategy.parts.server.name));
        options.restart_every = tree->restart_every;
    }
    options.delta = run.privacy.delta;
    if (!options.share) options.share = step.share;
    if (!options.rounds) options.rounds = run.rounds;
    if (!options.multiplier && !options.epsilon) options.multiplier = step.multiplier;
    return options;
}

}  // namespace

PrivacyQuestion privacy_question(const PrivacyOptions& options) {
    const PrivacyOptions all = with_config(options);
    if (!all.share) throw missing("--share", "training.cohort and data.partition.clients");
    if (!all.rounds) throw missing("--rounds", "rounds");
    if (!all.delta) throw missing("--delta", "privacy.delta");
    PrivacyQuestion question{.share = *all.share,
                             .rounds = static_cast<std::uint64_t>(*all.rounds),
                             .delta = *all.delta,
                             .target = all.epsilon,
                             .restart_every = all.restart_every};
    if (!all.epsilon) {
        if (!all.multiplier) throw missing("--multiplier or --epsilon", "privacy and upload step gaussian_noise");
        question.multiplier = *all.multiplier;
        return question;
    }
    const std::optional<double> enough = multiplier_for(*all.epsilon, *all.delta, *all.share, question.compositions());
    if (!enough)
        throw ConfigError(fmt::format(
            "--epsilon: {} is less than the ε with any noise; allowed with these rounds, share and delta: {} or more",
            *all.epsilon, least_epsilon(*all.delta, *all.share, question.compositions())));
    question.multiplier = *enough;
    return question;
}

std::string privacy_text(const PrivacyQuestion& question) {
    const PrivacyAccountant accountant({question.share, question.multiplier}, question.delta);
    const bool tree = question.restart_every > 0;
    const std::string who =
        tree ? fmt::format("trees        of {} rounds; a client is in at most {} of the noised sums\n", question.restart_every,
                           question.compositions())
             : fmt::format("share        {}  of the clients in a round, each drawn independently (Poisson)\n", question.share);
    return who + fmt::format(
                     "rounds       {}\n"
                     "delta        {}\n"
                     "multiplier   {}{}\n"
                     "epsilon      {:.4f}  by RDP; neighbours: {}\n",
                     question.rounds, question.delta, question.multiplier,
                     question.target ? fmt::format("  the least for epsilon {}", *question.target) : "",
                     accountant.epsilon(question.compositions()),
                     tree ? "one client's updates become 0" : "a client more or less");
}

std::vector<std::string> privacy_arguments(const PrivacyQuestion& question) {
    return {fmt::format("{}", question.multiplier), fmt::format("{}", question.share),
            fmt::format("{}", question.compositions()), fmt::format("{}", question.delta)};
}

}  // namespace fedhive::sim
