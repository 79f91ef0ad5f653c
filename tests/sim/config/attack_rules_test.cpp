// Colluding attackers: what is read, and what is refused with its place; tests/golden/messages has the wording.
#include "aggregation/attacks/attack_catalog.h"
#include "tests/sim/config/config_files.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::sim;
using namespace fedhive::sim::testing;

TEST_SUITE("ConfigAttack") {
    TEST_CASE("AttacksThatCannotBe") {
        check_errors(
            {
                {"attack: {name: aile}\n", "c.yaml:7: attack.name"},
                {"attack: alie\n", "c.yaml:7: attack"},
                {"attack: {share: 0.25}\n", "c.yaml:7: attack.share"},
                {"attack: {name: alie, epsilon: 1}\n", "c.yaml:7: attack.epsilon"},
                {"attack: {name: alie, z: -1}\n", "c.yaml:7: attack.z"},
                {"attack: {name: alie, z: far}\n", "c.yaml:7: attack.z"},
                {"attack: {name: inner_product, epsilon: 0}\n", "c.yaml:7: attack.epsilon"},
                {"attack: {name: min_max, direction: down}\n", "c.yaml:7: attack.direction"},
                {"attack: {name: mimic, share: 0}\n", "c.yaml:7: attack.share"},
                {"attack: {name: mimic, share: 1}\n", "c.yaml:7: attack.share"},
                {"attack: {name: mimic, share: 0.1}\n", "c.yaml:7: attack.share"},
                {"attack: {name: mimic, share: 0.9}\n", "c.yaml:7: attack.share"},
                {"attack: {name: alie}\nmode: {name: semi_async, quorum: 2}\n", "c.yaml:7: attack.name"},
                {"attack: {name: alie}\nmode: {name: hogwild}\n", "c.yaml:7: attack.name"},
                {"attack: {name: alie}\ntraining: {clients_per_slot: 2}\n", "c.yaml:8: training.clients_per_slot"},
                {"attack: {name: alie}\ntraining: {clients_at_once: 2}\n", "c.yaml:8: training.clients_at_once"},
                {"attack: {name: alie}\nfailures: {max_update_norm: 3}\n", "c.yaml:8: failures.max_update_norm"},
                {"attack: {name: alie}\nstrategy: {weighting: uniform}\nupload: [{name: clip}, {name: gaussian_noise}]\n",
                 "c.yaml:9: upload"},
            },
            kMinimal);
        check_message("config", "attack of a single client",
                      error_of(kMinimal + "attack: {name: alie}\n", {"data.partition.clients=1"}), "c.yaml:7: attack.name");
    }

    TEST_CASE("AttacksByTheirOtherNames") {
        const auto attack = [](const std::string& name) { return error_of(kMinimal + "attack: {name: " + name + "}\n"); };
        CHECK(attack("IPM").ends_with("; did you mean 'inner_product'?"));
        CHECK(attack("min-max").ends_with("; did you mean 'min_max'?"));
        check_message("config", "sign_flip as an attack", attack("sign_flip"), "c.yaml:7: attack.name");
        CHECK(error_of(kMinimal + "upload: [{name: model_replacement}]\n").ends_with("; did you mean 'scaled_update'?"));
        CHECK_ERROR_AT(error_of(kMinimal + "attacks: {name: alie}\n"), "c.yaml:7: attacks");
    }

    TEST_CASE("AttackIsReadAndWritten") {
        CHECK_FALSE(loaded(kMinimal).has_attackers());
        CHECK(to_yaml(loaded(kMinimal)).find("attack: {name: none}") != std::string::npos);
        for (const aggregation::AttackSpec& spec : aggregation::attack_catalog()) {
            CAPTURE(spec.name);
            const RunConfig run = loaded(kMinimal, {"attack.name=" + spec.name});
            CHECK(run.has_attackers() == (spec.name != "none"));
            CHECK_EQ(run.attack.values.size(), spec.keys.size());
            CHECK(from_yaml(to_yaml(run), "again").attack.values == run.attack.values);
        }
        const RunConfig run = loaded(kMinimal + "attack: {name: alie, share: 0.5, z: 1.25}\n");
        CHECK_EQ(run.attack.values.number("share"), 0.5);
        CHECK_EQ(run.attack.values.optional_number("z"), std::optional(1.25));
        CHECK_EQ(loaded(kMinimal + "attack: {name: alie, z: auto}\n").attack.values.optional_number("z"), std::nullopt);
    }

    TEST_CASE("AttackGoesWithEveryStrategyAndWithUploadSteps") {
        for (const StrategySpec& spec : strategy_catalog()) {
            CAPTURE(spec.name);
            if (aggregation::server_optimizer_spec(spec.server).tree_noise) continue;  // rules_test.cpp
            const std::string sgd =
                local_rule_spec(spec.local).client_state() ? "\ntraining: {optimizer: {name: sgd, lr: 0.1}}" : "";
            std::vector<std::string> overrides{"data.partition.clients=8"};
            if (aggregation::aggregator_spec(spec.aggregator).root) overrides.emplace_back("data.root_examples=20");
            CHECK_EQ(error_of(kMinimal + "attack: {name: alie}\nstrategy: {name: " + spec.name + "}" + sgd + "\n", overrides),
                     "");
        }
        CHECK_EQ(error_of(kMinimal + "attack: {name: mimic}\nupload: [{name: clip}, {name: top_k}]\n"), "");
        CHECK_EQ(error_of(kMinimal + "attack: {name: mimic}\nmode: {name: synchronous, quorum: 3}\n"), "");
    }
}
