// Keys that do not go together: chains of upload steps, strategies with client state, parts of a model that stay on clients.
#include "tests/sim/config/config_files.h"

#include <doctest/doctest.h>

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
             {{"upload=[{name: error_feedback}]"}, "upload"},
             {{"upload=[{name: error_feedback}, {name: clip}, {name: top_k}]"}, "upload"},
             {{"upload=[{name: error_feedback}, {name: sign}]", "mode={name: semi_async, quorum: 2}"}, "upload"},
             {{"upload=[{name: error_feedback}, {name: sign}]", "training.clients_per_slot=4"}, "training.clients_per_slot"},
             {{"upload=[{name: clip}, {name: clip}, {name: clip}, {name: clip}, {name: clip}, {name: clip}, {name: clip}, "
               "{name: clip}, {name: clip}]"},
              "upload"}},
            {"strategy={weighting: uniform}"});
    }

    TEST_CASE("StrategiesWithClientState") {
        const std::vector<std::string> sgd{"strategy={name: scaffold}", "training.optimizer={name: sgd, lr: 0.05}"};
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
