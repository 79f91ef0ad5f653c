// Keys that do not go together: chains of upload steps, strategies with client state, parts of a model that stay on clients.
#include "sim/config/privacy.h"
#include "sim/config/tree_noise_rules.h"
#include "tests/sim/config/config_files.h"

#include <doctest/doctest.h>

#include <cmath>
#include <utility>

using namespace fedhive::sim::testing;

namespace {

using Rows = std::vector<std::pair<std::vector<std::string>, std::string>>;  // assignments, the key that is wrong

void check_refused_keys(const Rows& rows, const std::vector<std::string>& before = {}) {
    for (const auto& [assignments, key] : rows) {
        std::vector<std::string> all = before;
        all.insert(all.end(), assignments.begin(), assignments.end());
        const std::string message = error_of(kMinimal, all);
        CAPTURE(message);
        CHECK(message.find(": " + key + ": ") != std::string::npos);
        CHECK_MESSAGE_IS("uploads", fmt::format("{}", fmt::join(assignments, " ")), without_catalogs(message));
    }
}

}  // namespace

TEST_SUITE("ConfigRules") {
    TEST_CASE("ChainsOfUploadSteps") {
        check_refused_keys(
            {{{"upload=[{name: gaussian_noise}]"}, "upload"},
             {{"upload=[{name: clip}, {name: gaussian_noise}, {name: clip}]"}, "upload"},
             {{"upload=[{name: clip}, {name: gaussian_noise}, {name: sign_flip}]"}, "upload"},
             {{"upload=[{name: clip}, {name: gaussian_noise}, {name: quantize}]"}, "upload"},
             {{"upload=[{name: clip}, {name: top_k}, {name: gaussian_noise}]"}, "upload"},
             {{"upload=[{name: clip}, {name: gaussian_noise}]", "strategy={name: median}"}, "strategy.aggregator"},
             {{"upload=[{name: clip}, {name: gaussian_noise}]", "strategy={weighting: examples}"}, "strategy.weighting"},
             {{"upload=[{name: clip}]", "mode={name: gradient_averaging}"}, "upload"},
             {{"upload=[{name: top_k}, {name: clip}]"}, "upload"},
             {{"upload=[{name: quantize}, {name: top_k}]"}, "upload"},
             {{"upload=[{name: top_k}, {name: quantize}, {name: sign}]"}, "upload"},
             {{"upload=[{name: top_k}, {name: stc}]"}, "upload"},
             {{"upload=[{name: stc}, {name: sign}]"}, "upload"},
             {{"upload=[{name: laplace_noise}]", "strategy={name: scaffold}", "training.optimizer={name: sgd, lr: 0.05}"},
              "upload"},
             {{"upload=[{name: laplace_noise, epsilon: 0}]"}, "upload[0].epsilon"},
             {{"upload=[{name: eden, bits: 5}]"}, "upload[0].bits"},
             {{"upload=[{name: priv_unit}]"}, "upload"},
             {{"upload=[{name: adaptive_clip}, {name: priv_unit}]"}, "upload"},
             {{"upload=[{name: clip}, {name: priv_unit, epsilon: 0}]"}, "upload[1].epsilon"},
             {{"upload=[{name: clip}, {name: priv_unit}]", "strategy={name: scaffold}",
               "training.optimizer={name: sgd, lr: 0.05}"},
              "upload"},
             {{"upload=[{name: error_feedback}]"}, "upload"},
             {{"upload=[{name: error_feedback}, {name: clip}, {name: top_k}]"}, "upload"},
             {{"upload=[{name: error_feedback}, {name: sign}]", "mode={name: semi_async, quorum: 2}"}, "upload"},
             {{"upload=[{name: error_feedback}, {name: sign}]", "training.clients_per_slot=4"}, "training.clients_per_slot"},
             {{"upload=[{name: clip}, {name: clip}, {name: clip}, {name: clip}, {name: clip}, {name: clip}, {name: clip}, "
               "{name: clip}, {name: clip}]"},
              "upload"}},
            {"strategy={weighting: uniform}"});
    }

    TEST_CASE("ChainsOfDownloadSteps") {
        check_refused_keys({{{"download=[{name: top_k}]"}, "download"},
                            {{"download=[{name: clip}]"}, "download[0].name"},
                            {{"download=[{name: quantize}, {name: top_k}]"}, "download"},
                            {{"download=[{name: fp16}, {name: error_feedback}]"}, "download"},
                            {{"download=[{name: error_feedback}]"}, "download"},
                            {{"download=[{name: fp16}]", "mode={name: semi_async, quorum: 2}"}, "download"},
                            {{"download=[{name: fp16}]", "mode={name: gradient_averaging}"}, "download"},
                            {{"download=[{name: eden, bits: 5}]"}, "download[0].bits"},
                            {{"download=[{name: fp16}]", "strategy={name: ifca}"}, "download"},
                            {{"download=[{name: fp16}]", "strategy={name: fedamp}"}, "download"}});
    }

    TEST_CASE("NormsThatAdapt") {
        check_refused_keys(
            {{{"upload=[{name: adaptive_clip, norm: 0}]"}, "upload[0].norm"},
             {{"upload=[{name: adaptive_clip, target_quantile: 1.5}]"}, "upload[0].target_quantile"},
             {{"upload=[{name: adaptive_clip}]", "mode={name: async}"}, "upload"},
             {{"upload=[{name: adaptive_clip}]", "mode={name: semi_async, quorum: 2}"}, "upload"},
             {{"upload=[{name: adaptive_clip}, {name: adaptive_clip}]"}, "upload"},
             {{"upload=[{name: adaptive_clip, count_noise: 0}, {name: gaussian_noise}]"}, "upload"},
             {{"upload=[{name: adaptive_clip, count_noise: 2}, {name: gaussian_noise, multiplier: 4}]"}, "upload"},
             {{"upload=[{name: adaptive_clip, count_noise: 0.1}, {name: gaussian_noise}]", "privacy={epsilon: 8, delta: 1e-5}",
               "training.cohort=2"},
              "upload"}},
            {"strategy={weighting: uniform}"});
        const auto numbers = [](const std::vector<std::string>& more) {
            std::vector<std::string> all{"strategy={weighting: uniform}", "data.partition.clients=200"};
            all.insert(all.end(), more.begin(), more.end());
            const fedhive::sim::RunConfig run = loaded(kMinimal, all);
            const auto number = run.upload.at(0).values.optional_number("count_noise");
            CHECK(fedhive::sim::from_yaml(fedhive::sim::to_yaml(run), "again")
                      .upload.at(0)
                      .values.optional_number("count_noise") == number);
            return std::pair(number.value(), run.upload.size() > 1 ? fedhive::sim::multiplier_of_updates(run) : 0.0);
        };
        const std::string noise = "upload=[{name: adaptive_clip}, {name: gaussian_noise, multiplier: ";
        CHECK(numbers({"upload=[{name: adaptive_clip}]"}).first == 0.0);
        CHECK(numbers({noise + "3}]", "training.cohort=100"}).first == 5.0);
        CHECK(numbers({noise + "3}]", "training.cohort=100"}).second == doctest::Approx(3.0 / std::sqrt(1.0 - 0.09)));
        CHECK(numbers({noise + "3}]", "training.cohort=20"}).first == 3.0);
        CHECK(numbers({"upload=[{name: adaptive_clip, count_noise: 1}, {name: gaussian_noise}]"}).second ==
              doctest::Approx(std::sqrt(4.0 / 3.0)));
    }

    TEST_CASE("PrivacyThatCannotBeAccountedFor") {
        check_refused_keys(
            {{{"privacy={epsilon: 8}"}, "privacy.delta"},
             {{"upload=[{name: clip}]"}, "privacy"},
             {{"upload=[{name: clip}, {name: sign_flip}, {name: gaussian_noise}]"}, "upload"},
             {{"upload=[{name: gaussian_noise}]"}, "upload"},
             {{"upload=[{name: clip}, {name: gaussian_noise, multiplier: 0.001}]"}, "upload"},
             {{"strategy={weighting: examples}"}, "strategy.weighting"},
             {{"mode={name: async}"}, "mode.name"},
             {{"mode={name: semi_async, quorum: 2}"}, "mode.name"},
             {{"mode={name: synchronous, quorum: 2}"}, "mode.quorum"},
             {{"sampling={name: examples}"}, "sampling.name"},
             {{"devices.availability={scheme: probability}"}, "devices.availability.scheme"},
             {{"failures.max_update_norm=3"}, "failures.max_update_norm"},
             {{"data.partition={scheme: natural}", "training.cohort=2"}, "data.partition.clients"},
             {{"privacy={epsilon: 8, delta: 1e-5}", "rounds=1000000000"}, "privacy.epsilon"},
             {{"privacy={epsilon: 8, delta: 1e-5}", "upload=[{name: clip}, {name: gaussian_noise, multiplier: 1}]"},
              "privacy.epsilon"}},
            {"privacy={delta: 1e-5}", "strategy={weighting: uniform}", "upload=[{name: clip}, {name: gaussian_noise}]"});
    }

    TEST_CASE("NoiseOfATree") {
        const std::string ftrl = "strategy={name: dp_ftrl}", clip = "upload=[{name: clip}]";
        check_refused_keys(
            {{{"upload=[]"}, "upload"},
             {{"upload=[{name: clip}, {name: sign_flip}]"}, "upload"},
             {{"upload=[{name: clip}, {name: gaussian_noise}]"}, "upload"},
             {{"upload=[{name: adaptive_clip}]"}, "upload"},
             {{"mode={name: semi_async, quorum: 2}"}, "mode.name"},
             {{"strategy={name: dp_ftrl, weighting: examples}"}, "strategy.weighting"},
             {{"strategy={name: dp_ftrl, aggregator: median}"}, "strategy.aggregator"},
             {{"strategy={name: dp_ftrl, local: scaffold}", "training.optimizer={name: sgd, lr: 0.05}"}, "strategy.local"},
             {{"strategy={name: dp_ftrl, restart_every: 0}"}, "strategy.restart_every"},
             {{"strategy={name: dp_ftrl, noise_multiplier: 0}"}, "strategy.noise_multiplier"},
             {{"attack={name: alie, share: 0.25}"}, "attack.name"},
             {{"data.partition={scheme: natural}", "training.cohort=2"}, "strategy.restart_every"},
             {{"privacy={delta: 1e-5}"}, "sampling.name"},
             {{"privacy={delta: 1e-5}", "sampling={name: round_robin}", "training.cohort=2",
               "strategy={name: dp_ftrl, restart_every: 3}"},
              "strategy.restart_every"},
             {{"privacy={delta: 1e-5}", "sampling={name: round_robin}", "strategy={name: dp_ftrl, noise_multiplier: 0.001}"},
              "strategy.noise_multiplier"},
             {{"privacy={epsilon: 1, delta: 1e-5}", "sampling={name: round_robin}",
               "strategy={name: dp_ftrl, noise_multiplier: 1}"},
              "privacy.epsilon"},
             {{"privacy={epsilon: 1e-6, delta: 1e-5}", "sampling={name: round_robin}"}, "privacy.epsilon"}},
            {ftrl, clip});
        const auto values = [&](const std::vector<std::string>& more) {
            std::vector<std::string> all{ftrl, clip, "data.partition.clients=200"};
            all.insert(all.end(), more.begin(), more.end());
            const fedhive::sim::RunConfig run = loaded(kMinimal, all);
            CHECK((fedhive::sim::from_yaml(fedhive::sim::to_yaml(run), "again").strategy.parts.server.values ==
                   run.strategy.parts.server.values));
            const auto tree = fedhive::sim::noise_tree_of(run).value();
            return std::pair(tree.multiplier, tree.restart_every);
        };
        CHECK(values({"training.cohort=30"}) == std::pair(1.0, std::uint64_t{6}));
        CHECK(values({"training.cohort=200"}) == std::pair(1.0, std::uint64_t{1}));
        CHECK(values({"strategy={name: dp_ftrl, restart_every: 50, noise_multiplier: 3}"}) ==
              std::pair(3.0, std::uint64_t{50}));
        CHECK(
            values({"training.cohort=30", "rounds=20", "sampling={name: round_robin}", "privacy={epsilon: 8, delta: 1e-5}"}) ==
            std::pair(fedhive::sim::multiplier_for(8.0, 1e-5, 1.0, 3 * 3 + 2).value(), std::uint64_t{6}));
    }

    TEST_CASE("NoiseThatFollowsFromAnEpsilonIsWrittenAndReadBack") {
        const std::vector<std::string> chain{"strategy={weighting: uniform}", "upload=[{name: clip}, {name: gaussian_noise}]",
                                             "training.cohort=2"};
        const auto multiplier = [&](const std::vector<std::string>& more) {
            std::vector<std::string> all = chain;
            all.insert(all.end(), more.begin(), more.end());
            const fedhive::sim::RunConfig run = loaded(kMinimal, all);
            const auto number = run.upload.at(1).values.optional_number("multiplier");
            CHECK(fedhive::sim::from_yaml(fedhive::sim::to_yaml(run), "again")
                      .upload.at(1)
                      .values.optional_number("multiplier") == number);
            return number.value();
        };
        CHECK(multiplier({}) == 1.0);
        CHECK(multiplier({"privacy={delta: 1e-5}"}) == 1.0);
        CHECK(multiplier({"upload=[{name: clip}, {name: gaussian_noise, multiplier: auto}]"}) == 1.0);
        const double found = multiplier({"privacy={epsilon: 8, delta: 1e-5}"});
        CHECK(found == fedhive::sim::multiplier_for(8.0, 1e-5, 0.5, 10));
        CHECK(multiplier({"privacy={epsilon: 8, delta: 1e-5}",
                          "upload=[{name: clip}, {name: gaussian_noise, multiplier: 9}]"}) == 9.0);
        CHECK(multiplier({"privacy={epsilon: 8, delta: 1e-5}", "rounds=20"}) > found);
    }

    TEST_CASE("StrategiesWithClientState") {
        const std::vector<std::string> sgd{"strategy={name: scaffold, option: 2}", "training.optimizer={name: sgd, lr: 0.05}"};
        check_refused_keys({{{"training.optimizer.momentum=0.9"}, "training.optimizer.momentum"},
                            {{"training.optimizer={name: adam}"}, "training.optimizer.name"},
                            {{"training.clients_per_slot=4"}, "training.clients_per_slot"},
                            {{"strategy.weighting=examples"}, "strategy.weighting"},
                            {{"strategy.aggregator=median"}, "strategy.aggregator"},
                            {{"upload=[{name: clip}, {name: gaussian_noise}]"}, "upload"},
                            {{"strategy={name: feddyn, alpha: 0.1}", "upload=[{name: clip}]"}, "upload"},
                            {{"mode={name: async}"}, "mode.name"}},
                           sgd);
    }

    TEST_CASE("PartsThatStayOnClients") {
        check_refused_keys({{{"mode={name: async}"}, "mode.name"},
                            {{"training.clients_per_slot=2"}, "training.clients_per_slot"},
                            {{"evaluation.clients.every=never"}, "evaluation.clients.every"},
                            {{"stop.test_accuracy=0.9"}, "stop.test_accuracy"}},
                           {"model.local=[\"fc*\"]", "data.partition.holdout=0.2", "evaluation.clients={every: 1}"});
    }

    TEST_CASE("TargetsOfATask") {
        check_refused_keys({{{"task=regression"}, "task"},
                            {{"data={format: synthetic_linear}"}, "task"},
                            {{"mode={name: gradient_averaging}", "workers=4", "failures={policy: drop}"}, "failures.policy"},
                            {{"mode={name: hogwild}", "failures={policy: retry}"}, "failures.policy"},
                            {{"mode={name: gradient_averaging}", "training.cohort=3"}, "training.cohort"},
                            {{"mode={name: parameter_server}", "strategy={server_lr: 0.5}"}, "strategy.server_lr"}});
    }
}
