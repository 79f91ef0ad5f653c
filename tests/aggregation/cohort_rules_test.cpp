#include "aggregation/math/leading_direction.h"
#include "tests/aggregation/combine.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>

using namespace fedhive;
using namespace fedhive::aggregation;
using nlohmann::json;
using testing::CombinedRule;
using testing::Floats;

namespace {

/// Keys as a config gives them: whole numbers where the rule wants such.
Values values_of(const std::string& rule, const json& keys) {
    Values values;
    for (const KeySpec& key : aggregator_spec(rule).keys) {
        if (!keys.contains(key.name)) continue;
        if (std::holds_alternative<std::int64_t>(key.default_value))
            values.set(key.name, keys[key.name].get<std::int64_t>());
        else if (std::holds_alternative<std::optional<std::int64_t>>(key.default_value))
            values.set(key.name, std::optional(keys[key.name].get<std::int64_t>()));
        else
            values.set(key.name, keys[key.name].get<double>());
    }
    return values;
}

std::vector<Sender> senders_of(const json& round) {
    std::vector<Sender> senders;
    for (std::size_t k = 0; k < round["updates"].size(); ++k)
        senders.push_back({.client_id = static_cast<std::uint32_t>(k),
                           .steps = round["steps"][k],
                           .weight = round["examples"][k],
                           .sent_loss = round["loss"][k],
                           .label_discrepancy = round["loss"][k]});
    return senders;
}

Floats random_update(std::uint32_t k) { return testing::random_floats(40, k); }

std::vector<Floats> some_updates(std::uint32_t count) {
    std::vector<Floats> updates;
    for (std::uint32_t k = 0; k < count; ++k) updates.push_back(random_update(k));
    return updates;
}

std::vector<Sender> of_weights(const std::vector<double>& weights, std::uint64_t steps) {
    std::vector<Sender> senders;
    for (const double weight : weights) senders.push_back({.steps = steps, .weight = weight});
    return senders;
}

}  // namespace

TEST_SUITE("CohortRules") {
    TEST_CASE("EachEqualsItsFormulaInNumpy") {
        std::ifstream file(FEDHIVE_SOURCE_DIR "/tests/golden/cohort_rules.json");
        REQUIRE(file.is_open());
        const json golden = json::parse(file);
        std::size_t compared = 0;
        for (const json& one : golden["cases"]) {
            const auto name = one["rule"].get<std::string>();
            CAPTURE(name);
            CAPTURE(one["keys"].dump());
            const LocalSteps local{one["local"]["lr"], one["local"]["momentum"], one["local"]["proximal_mu"]};
            CombinedRule rule(name, values_of(name, one["keys"]));
            for (const json& round : one["rounds"]) {
                const auto updates = round["updates"].get<std::vector<Floats>>();
                const auto expected = round["aggregate"].get<std::vector<double>>();
                if (round.contains("root")) rule.set_root(round["root"].get<Floats>());
                double largest = 0.0;
                for (const double value : expected) largest = std::max(largest, std::abs(value));
                const Floats aggregate = rule(updates, MemorySpace::Host, senders_of(round), local);
                REQUIRE(aggregate.size() == expected.size());
                for (std::size_t i = 0; i < expected.size(); ++i)
                    CHECK(aggregate[i] ==
                          doctest::Approx(expected[i]).epsilon(name == "common_descent" ? 1e-4 : 2e-6).scale(largest));
                ++compared;
            }
        }
        CHECK(compared == 39 + 3 + 2 + 8 + 3 + 3 + 3 + 3 + 4 + 7 + 12 + 6);
    }

    TEST_CASE("SpecialCasesHaveTheBitsOfTheMean") {
        const std::vector<Floats> updates = some_updates(7);
        const std::vector<Sender> unequal = of_weights({1.0, 3.0, 2.0, 5.0, 0.5, 4.0, 1.5}, 12);
        CombinedRule mean("mean", {});
        const Floats plain = mean(updates), weighted = mean(updates, MemorySpace::Host, unequal);
        CHECK(testing::same_bits(CombinedRule("trimmed_mean", {{"trim", 0.0}})(updates), plain));
        CHECK(testing::same_bits(CombinedRule("mean_around_median", {{"byzantine", std::int64_t{0}}})(updates), plain));
        CHECK(testing::same_bits(
            CombinedRule("krum", {{"byzantine", std::optional<std::int64_t>(0)}, {"chosen", std::int64_t{7}}})(updates),
            plain));
        CHECK(
            testing::same_bits(CombinedRule("normalized", {})(updates, MemorySpace::Host, unequal, {0.1, 0.9, 0.0}), weighted));
        CHECK(testing::same_bits(
            CombinedRule("robust_rate", {{"threshold", std::int64_t{0}}})(updates, MemorySpace::Host, unequal), weighted));
        CHECK(testing::same_bits(CombinedRule("tilted", {{"tilt", 0.0}})(updates, MemorySpace::Host, unequal), weighted));
        std::vector<Sender> with_losses = unequal;
        for (Sender& sender : with_losses) sender.sent_loss = sender.weight;
        CHECK(testing::same_bits(CombinedRule("loss_power", {{"q", 0.0}})(updates, MemorySpace::Host, with_losses, {0.1}),
                                 plain));
        CombinedRule all_by_score("root_score", {{"byzantine", std::int64_t{0}}});
        all_by_score.set_root(random_update(99));
        CHECK(testing::same_bits(all_by_score(updates), plain));
        // Equal updates are not extrapolated.
        const std::vector<Floats> equal(5, random_update(3));
        CHECK(testing::same_bits(CombinedRule("extrapolated", {})(equal), mean(equal)));
    }

    TEST_CASE("EachNeedsAsManyUpdatesAsItsPaperSays") {
        CHECK(CombinedRule("bulyan", {{"byzantine", std::int64_t{2}}}).least_updates() == 11);
        CHECK(CombinedRule("bulyan", {}).least_updates() == 7);
        CHECK(CombinedRule("mean_around_median", {{"byzantine", std::int64_t{4}}}).least_updates() == 9);
        CHECK(CombinedRule("geometric_median", {}).least_updates() == 1);
        CHECK(CombinedRule("trimmed_mean", {}).least_updates() == 1);
        CHECK(CombinedRule("root_trust", {}).least_updates() == 1);
        CHECK(CombinedRule("root_score", {{"byzantine", std::int64_t{4}}}).least_updates() == 5);
        CHECK(CombinedRule("similarity", {}).least_updates() == 1);
    }

    TEST_CASE("CenteredClippingBeginsAtZeroAndIsBounded") {
        CombinedRule rule("centered_clipping", {{"radius", 1.0}});
        const Floats far(40, 1e6F);
        const auto length = [](const Floats& values) {
            double sum = 0.0;
            for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
            return std::sqrt(sum);
        };
        CHECK(length(rule({far, far})) == doctest::Approx(1.0).epsilon(1e-5));
        CHECK(length(rule({far, far})) == doctest::Approx(2.0).epsilon(1e-5));
    }

    TEST_CASE("NothingThatARuleRemembersIsTakenFromAnother") {
        for (const AggregatorSpec& spec : aggregator_catalog()) {
            CombinedRule rule(spec.name, {});
            if (rule.rule() == nullptr) continue;
            CAPTURE(spec.name);
            CHECK(rule.rule()->restore(rule.rule()->state()));
            CHECK_FALSE(rule.rule()->restore("7:"));
        }
    }

    TEST_CASE("WhatARuleRemembersGoesOnInAnotherProcess") {
        std::vector<Sender> senders = of_weights({1.0, 2.0, 3.0, 4.0}, 1);
        for (std::uint32_t k = 0; k < 4; ++k) {
            senders[k].client_id = k;
            senders[k].sent_loss = 0.5 * k;
        }
        for (const std::string name : {"agnostic", "aligned"}) {
            CAPTURE(name);
            CombinedRule one(name, {}), other(name, {}), fresh(name, {});
            one({random_update(9), random_update(1), random_update(2), random_update(7)}, MemorySpace::Host, senders);
            REQUIRE(other.rule()->restore(one.rule()->state()));
            const auto next = [&](CombinedRule& rule) { return rule(some_updates(4), MemorySpace::Host, senders); };
            const Floats second = next(one);
            CHECK(next(other) == second);
            CHECK(next(fresh) != second);
        }
    }

    TEST_CASE("TheLeadingDirectionIsThatOfLargestVarianceNotOfTheFarthestRow") {
        // Along x: 3, −3, 3, −3, 0; the last row is the farthest, along y. All have 10 in z.
        const std::vector<Floats> rows{{3, 0, 10}, {-3, 0, 10}, {3, 0, 10}, {-3, 0, 10}, {0, 4, 10}};
        std::vector<ConstParamSpan> spans;
        for (const Floats& row : rows) spans.push_back({row.data(), row.size(), MemorySpace::Host});
        const InnerProducts products = inner_products_of(spans, 1);
        const std::vector<double> along = along_leading_direction(products, std::vector<double>(rows.size(), 1.0));
        const std::vector<double> expected{0.5, -0.5, 0.5, -0.5, 0.0};
        const double sign = along[0] > 0.0 ? 1.0 : -1.0;
        for (std::size_t i = 0; i < rows.size(); ++i)
            CHECK(sign * along[i] == doctest::Approx(expected[i]).scale(1.0).epsilon(1e-8));
        // Of some rows only, and of one.
        const std::vector<double> of_some = along_leading_direction(products, std::vector<double>{0.0, 1.0, 1.0, 0.0});
        CHECK(of_some[0] == 0.0);
        CHECK(std::abs(of_some[1]) == doctest::Approx(std::sqrt(0.5)));
        CHECK(of_some[2] == doctest::Approx(-of_some[1]));
        CHECK(of_some.back() == 0.0);
        CHECK(along_leading_direction(products, std::vector<double>{1.0}) == std::vector<double>{0.0});
    }
}
