#include "tests/aggregation/combine.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

using namespace fedhive;
using namespace fedhive::aggregation;
using testing::CombinedRule;
using testing::Floats;

namespace {

const Chosen kPairs{"bucketing", {{"bucket_size", std::int64_t{2}}}};
const Chosen kTriples{"bucketing", {{"bucket_size", std::int64_t{3}}}};
const Chosen kNearest{"nearest_neighbors", {{"mixed_without", std::int64_t{3}}}};

/// `count` updates that have much in common; the last `wrong` are far off. 5,000 floats: more than one block.
std::vector<Floats> updates_of(std::uint32_t count, std::uint32_t wrong = 0) {
    const Floats common = testing::random_floats(5000, 99);
    std::vector<Floats> updates;
    for (std::uint32_t k = 0; k < count; ++k) {
        updates.push_back(testing::random_floats(5000, k));
        for (std::size_t i = 0; i < common.size(); ++i)
            updates.back()[i] = k + wrong < count ? common[i] + 0.1F * updates.back()[i] : 20.0F * updates.back()[i];
    }
    return updates;
}

std::vector<Floats> means_of(const std::vector<Floats>& updates, const Groups& groups) {
    std::vector<Floats> means;
    for (const auto& group : groups) {
        std::vector<double> sum(updates.front().size(), 0.0);
        for (const std::size_t k : group)
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(updates[k][i]);
        means.emplace_back();
        for (const double value : sum) means.back().push_back(static_cast<float>(value / static_cast<double>(group.size())));
    }
    return means;
}

std::vector<std::string> rules_of_groups() {
    std::vector<std::string> names;
    for (const AggregatorSpec& spec : aggregator_catalog())
        if (spec.of_groups) names.push_back(spec.name);
    return names;
}

}  // namespace

TEST_SUITE("PreAggregation") {
    TEST_CASE("ARuleOfGroupsIsTheRuleOfTheirMeans") {
        const std::vector<Floats> updates = updates_of(15, 2);
        REQUIRE(rules_of_groups().size() == 9);
        for (const std::string& name : rules_of_groups())
            for (const Chosen& grouping : {kPairs, kTriples, kNearest}) {
                CAPTURE(name);
                CAPTURE(grouping.name);
                CombinedRule of_groups(name, {}, grouping), of_rows(name, {});
                for (int round = 0; round < 2; ++round) {  // the second one has a last aggregate
                    const Floats found = of_groups(updates);
                    const Floats expected = of_rows(means_of(updates, of_groups.groups()));
                    for (std::size_t i = 0; i < expected.size(); i += 7)
                        CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-4).scale(1.0));
                }
            }
    }

    TEST_CASE("GroupsOfOneHaveTheBitsOfTheUpdates") {
        const std::vector<Floats> updates = updates_of(9);
        const Chosen ones{"bucketing", {{"bucket_size", std::int64_t{1}}}};
        for (const char* name : {"median", "trimmed_mean", "mean_around_median", "sign_majority", "bulyan"})
            CHECK(testing::same_bits(CombinedRule(name, {}, ones)(updates), CombinedRule(name, {})(updates)));
    }

    TEST_CASE("EveryUpdateIsInOneBucket") {
        CombinedRule rule("median", {}, kTriples);
        rule(updates_of(11));
        REQUIRE(rule.groups().size() == 4);
        std::multiset<std::size_t> all;
        for (const auto& group : rule.groups()) {
            CHECK(std::is_sorted(group.begin(), group.end()));
            all.insert(group.begin(), group.end());
        }
        CHECK(std::set<std::size_t>(all.begin(), all.end()).size() == 11);
        CHECK(all.size() == 11);
        CHECK(std::ranges::count(rule.groups(), std::size_t{2}, &std::vector<std::size_t>::size) == 1);
        CHECK(std::is_sorted(rule.groups().begin(), rule.groups().end()));
    }

    TEST_CASE("BucketsAreDrawnAnewInEachRound") {
        const PreAggregationSpec& bucketing = pre_aggregation_spec("bucketing");
        const auto groups_in = [&](std::uint32_t round) {
            return bucketing.groups(completed({}, bucketing.keys), 12, nullptr, Stream(1, Purpose::Bucketing, round));
        };
        CHECK(groups_in(0) == groups_in(0));
        CHECK(groups_in(0) != groups_in(1));
    }

    TEST_CASE("NearestNeighboursLeaveOutWhatIsFar") {
        CombinedRule rule("median", {}, kNearest);
        rule(updates_of(10, 3));
        REQUIRE(rule.groups().size() == 10);
        for (std::size_t k = 0; k < 7; ++k) CHECK(rule.groups()[k] == std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6});
        for (std::size_t k = 7; k < 10; ++k) {  // a wrong update keeps itself
            CHECK(rule.groups()[k].size() == 7);
            CHECK(std::ranges::count(rule.groups()[k], k) == 1);
        }
        // More than there are: itself alone.
        const PreAggregationSpec& nearest = pre_aggregation_spec("nearest_neighbors");
        const InnerProducts products(2, 0);
        const Groups alone = nearest.groups({{"mixed_without", std::int64_t{5}}}, 2, &products, Stream(1, Purpose::Bucketing));
        CHECK(alone == Groups{{0}, {1}});
    }

    TEST_CASE("ProductsOfMeansAreThoseOfTheirVectors") {
        const auto products_of = [](const std::vector<Floats>& rows, std::size_t base) {
            std::vector<ConstParamSpan> spans;
            for (const Floats& row : rows) spans.push_back({row.data(), row.size(), MemorySpace::Host});
            return inner_products_of(spans, base);
        };
        const std::vector<Floats> updates = updates_of(7, 2);
        const Groups groups{{0, 1}, {2}, {3, 4, 5}, {0, 6}};
        const InnerProducts means = products_of(updates, 3).of_means(groups),
                            expected = products_of(means_of(updates, groups), 1);
        for (std::size_t i = 0; i < groups.size(); ++i)
            for (std::size_t j = 0; j < groups.size(); ++j) {
                CHECK(means.dot(i, j) == doctest::Approx(expected.dot(i, j)).epsilon(1e-5));
                CHECK(means.squared_distance(i, j) == doctest::Approx(expected.squared_distance(i, j)).epsilon(1e-5));
            }
        const InnerProducts again = means.of_means({{0, 1, 2, 3}});
        const std::vector<double> quarter(4, 0.25);
        CHECK(again.squared(0) == doctest::Approx(expected.squared_of(quarter)).epsilon(1e-5));
    }

    TEST_CASE("FewestUpdates") {
        const auto least = [](const Chosen& grouping, std::size_t rows) {
            return pre_aggregation_spec(grouping.name).least(grouping.values, rows);
        };
        CHECK(least({"none"}, 7) == 7);
        CHECK(least(kPairs, 7) == 13);
        CHECK(least(kTriples, 1) == 1);
        CHECK(least(kNearest, 1) == 4);
        CHECK(least(kNearest, 7) == 7);
    }
}
