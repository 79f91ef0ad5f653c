// The noise of a tree over the rounds, against the sum of its nodes.
#include "sim/round/tree_noise.h"

#include "aggregation/base/random.h"
#include "tests/support/statistics.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

constexpr double kTreeClip = 1.5, kTreeMultiplier = 2.0, kTreeWeight = 4.0;
constexpr std::uint64_t kTreeSeed = 7;

clients::UploadPlan clipped_chain() {
    clients::UploadPlan plan;
    plan.steps[plan.size++] = clients::upload_step("clip", {{"norm", kTreeClip}});
    return plan;
}

aggregation::Layout layout_with(std::size_t size) {
    aggregation::Layout layout;
    layout.add("weight", {static_cast<std::int64_t>(size)});
    return layout;
}

TreeNoise tree_of(const aggregation::Layout& layout, std::uint64_t restart_every, std::uint64_t seed = kTreeSeed) {
    return {NoiseTree{kTreeMultiplier, restart_every}, clipped_chain(), seed, layout, {}};
}

/// The noise in the sum of updates in `round`, as doubles.
std::vector<double> added_by(TreeNoise& noise, const aggregation::Layout& layout, std::int64_t round, std::int64_t last_step) {
    const std::vector<float> zeros(layout.num_floats(), 0.0F);
    const aggregation::Aggregate with = noise.completed({zeros, kTreeWeight, 3}, round, last_step);
    CHECK(with.weight == kTreeWeight);
    CHECK(with.clients == 3);
    std::vector<double> sum;
    for (std::size_t i = 0; i < with.values.size; ++i) sum.push_back(kTreeWeight * static_cast<double>(with.values.data[i]));
    return sum;
}

/// The noise of the first `rounds` rounds of the tree that begins behind round `first`, node by node.
std::vector<double> noise_of_prefix(const aggregation::Layout& layout, std::uint64_t first, std::uint64_t rounds) {
    std::vector<float> sum(layout.num_floats(), 0.0F);
    std::uint64_t end = 0;
    for (std::uint32_t level = 63; level < 64; --level) {
        if ((rounds >> level & 1U) == 0) continue;
        end += std::uint64_t{1} << level;
        const std::uint64_t key =
            Stream(kTreeSeed, Purpose::TreeNoise, static_cast<std::uint32_t>(first + end), level).next_u64();
        clients::add_noise(aggregation::ParamSpan(sum), layout, key, kTreeMultiplier * kTreeClip);
    }
    return {sum.begin(), sum.end()};
}

void check_near_sums(const std::vector<double>& found, const std::vector<double>& expected) {
    double most = 0.0;
    for (std::size_t i = 0; i < found.size(); ++i) most = std::max(most, std::abs(found[i] - expected[i]));
    CHECK(most < 1e-4);
}

}  // namespace

TEST_SUITE("TreeNoise") {
    TEST_CASE("NodesOfAPrefixCoverItOnce") {
        for (std::uint64_t rounds = 0; rounds <= 70; ++rounds) {
            std::vector<int> covered(rounds + 1, 0);
            const std::vector<TreeNode> nodes = nodes_of(rounds);
            CHECK(nodes.size() == static_cast<std::size_t>(std::popcount(rounds)));
            for (const TreeNode& node : nodes) {
                const std::uint64_t length = std::uint64_t{1} << node.level;
                CHECK(node.end % length == 0);
                for (std::uint64_t round = node.end - length + 1; round <= node.end; ++round) ++covered.at(round);
            }
            CHECK(std::count(covered.begin() + 1, covered.end(), 1) == static_cast<std::int64_t>(rounds));
        }
    }

    TEST_CASE("WhatTheRoundsAddSumsUpToTheNodesOfThePrefixAndATreeStartsAnew") {
        const aggregation::Layout layout = layout_with(300);
        TreeNoise noise = tree_of(layout, 6);
        std::vector<double> sum(layout.num_floats(), 0.0), of_trees(layout.num_floats(), 0.0);
        for (std::int64_t round = 0; round < 15; ++round) {
            CAPTURE(round);
            CHECK(noise.begins(round, round) == (round % 6 == 0));
            const std::vector<double> now = added_by(noise, layout, round, round);
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += now[i];
            const auto in_tree = static_cast<std::uint64_t>(round % 6 + 1), first = static_cast<std::uint64_t>(round / 6 * 6);
            std::vector<double> expected = noise_of_prefix(layout, first, in_tree);
            for (std::size_t i = 0; i < sum.size(); ++i) expected[i] += of_trees[i];
            check_near_sums(sum, expected);
            if (in_tree == 6) of_trees = expected;
        }
    }

    TEST_CASE("RoundWithoutAStepIsMadeUpForByTheNextOne") {
        const aggregation::Layout layout = layout_with(300);
        TreeNoise noise = tree_of(layout, 8);
        CHECK(noise.begins(2, 0));
        check_near_sums(added_by(noise, layout, 2, 0), noise_of_prefix(layout, 0, 3));  // the first two made none
        std::vector<double> difference = noise_of_prefix(layout, 0, 7);
        const std::vector<double> before = noise_of_prefix(layout, 0, 3);
        for (std::size_t i = 0; i < difference.size(); ++i) difference[i] -= before[i];
        CHECK_FALSE(noise.begins(6, 3));
        check_near_sums(added_by(noise, layout, 6, 3), difference);
        CHECK(noise.begins(9, 7));  // the next tree's second round, whose first made none
        check_near_sums(added_by(noise, layout, 9, 7), noise_of_prefix(layout, 8, 2));
    }

    TEST_CASE("NodeIsNormalWithMultiplierTimesNormAndNodesAndSeedsDiffer") {
        const aggregation::Layout layout = layout_with(20'000);
        TreeNoise noise = tree_of(layout, 8);
        const std::vector<double> first = added_by(noise, layout, 0, 0), three = added_by(noise, layout, 2, 0);
        CHECK(fedhive::testing::distance_from_normal(first, 0.0, kTreeMultiplier * kTreeClip) <
              fedhive::testing::kolmogorov_bound(first.size()));
        CHECK(fedhive::testing::distance_from_normal(three, 0.0, std::sqrt(2.0) * kTreeMultiplier * kTreeClip) <
              fedhive::testing::kolmogorov_bound(three.size()));
        CHECK(added_by(noise, layout, 8, 8) != first);
        CHECK(added_by(noise, layout, 0, 0) == first);
        TreeNoise other = tree_of(layout, 8, kTreeSeed + 1);
        CHECK(added_by(other, layout, 0, 0) != first);
    }

    TEST_CASE("WithoutATreeTheMeanStaysAsItIs") {
        const aggregation::Layout layout = layout_with(4);
        const std::vector<float> values(layout.num_floats(), 0.5F);
        TreeNoise none(std::nullopt, {}, kTreeSeed, layout, {});
        CHECK(none.completed({values, kTreeWeight, 3}, 2, 1).values.data == values.data());
    }
}
