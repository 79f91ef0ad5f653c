// The norm of adaptive_clip from one round to the next, by its formula.
#include "sim/round/clip_norm.h"

#include "tests/support/statistics.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

constexpr double kFirstNorm = 0.25, kTargetQuantile = 0.5, kNormRate = 0.2;

ClipNorm moving_norm(double count_noise, std::uint64_t seed = 7, double quantile = kTargetQuantile) {
    clients::UploadPlan plan;
    plan.steps[plan.size++] = clients::upload_step("adaptive_clip", {{"norm", kFirstNorm},
                                                                     {"target_quantile", quantile},
                                                                     {"clip_lr", kNormRate},
                                                                     {"count_noise", std::optional(count_noise)}});
    clients::Reports reports;
    reports.add("sent_loss");
    reports.add(clients::kWithinClip);
    return {plan, seed, reports};
}

/// Clients, by whether each was within the norm; `failed` more were within it, and their updates are lost.
Arrivals came_within(const std::vector<bool>& within, std::size_t failed = 0) {
    Arrivals all;
    for (const bool one : within) {
        ClientReport report;
        report.result.reports = {17.0, one ? 1.0 : 0.0};
        all.clients.push_back(report);
    }
    for (std::size_t i = 0; i < failed; ++i) {
        ClientReport report;
        report.result.reports = {17.0, 1.0};
        report.failure = clients::FailureKind::Exception;
        all.clients.push_back(report);
    }
    return all;
}

}  // namespace

TEST_SUITE("ClipNorm") {
    TEST_CASE("FollowsTheShareOfAcceptedUpdatesWithinIt") {
        const ClipNorm clip = moving_norm(0.0);
        CHECK(clip.adapts());
        CHECK(clip.first() == kFirstNorm);
        CHECK(clip.next(3.0, came_within({true, true, true, false}), 4) ==
              3.0 * std::exp(-kNormRate * (0.75 - kTargetQuantile)));
        CHECK(clip.next(3.0, came_within({false, false}), 4) == 3.0 * std::exp(kNormRate * kTargetQuantile));
        CHECK(clip.next(3.0, came_within({true, false}), 4) == 3.0);
        CHECK(clip.next(3.0, came_within({true, false}, 5), 4) == 3.0);  // who failed does not count
        CHECK(clip.next(3.0, came_within({}, 5), 4) == 3.0);
        CHECK(moving_norm(0.0, 7, 1.0).next(1e20, came_within({true, true, true}), 0) == 1e20);
    }

    TEST_CASE("CountHasItsNoiseByRoundAndSeed") {
        const ClipNorm clip = moving_norm(3.0);
        const Arrivals four = came_within({true, true, true, false});
        std::vector<double> noise;
        for (std::int64_t round = 0; round < 5000; ++round) {
            const double share = kTargetQuantile - std::log(clip.next(2.0, four, round) / 2.0) / kNormRate;
            noise.push_back(4.0 * share - 3.0);
        }
        CHECK(fedhive::testing::distance_from_normal(noise, 0.0, 3.0) < fedhive::testing::kolmogorov_bound(noise.size()));
        CHECK(clip.next(2.0, four, 5) == moving_norm(3.0).next(2.0, four, 5));
        CHECK(clip.next(2.0, four, 5) != clip.next(2.0, four, 6));
        CHECK(clip.next(2.0, four, 5) != moving_norm(3.0, 8).next(2.0, four, 5));
    }

    TEST_CASE("StaysAFloatAboveZero") {
        const ClipNorm clip = moving_norm(0.0, 7, 0.0);
        double norm = kFirstNorm;
        for (int round = 0; round < 2000; ++round) norm = clip.next(norm, came_within({true}), round);
        CHECK(norm == ClipNorm::kLeast);
        const ClipNorm wild = moving_norm(1e6);
        for (int round = 0; round < 50; ++round) {
            norm = wild.next(1.0, came_within({true}), round);
            CHECK((norm >= ClipNorm::kLeast && norm <= ClipNorm::kMost));
        }
    }

    TEST_CASE("ChainsOfOtherStepsHaveNone") {
        clients::UploadPlan plan;
        plan.steps[plan.size++] = clients::upload_step("clip", {{"norm", 3.0}});
        const ClipNorm clip(plan, 7, {});
        CHECK_FALSE(clip.adapts());
        CHECK(clip.first() == 0.0);
    }
}
