// Rules that compare updates with the root client's: exact small numbers.
#include "tests/aggregation/combine.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace fedhive;
using namespace fedhive::aggregation;
using testing::CombinedRule;
using testing::Floats;

namespace {

CombinedRule trust(const Floats& root) {
    CombinedRule rule("root_trust", {});
    rule.set_root(root);
    return rule;
}

CombinedRule score(const Floats& root, std::int64_t byzantine, double penalty) {
    CombinedRule rule("root_score", {{"byzantine", byzantine}, {"penalty", penalty}});
    rule.set_root(root);
    return rule;
}

double length(const Floats& values) {
    double sum = 0.0;
    for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
    return std::sqrt(sum);
}

}  // namespace

TEST_SUITE("RootRules") {
    TEST_CASE("TrustIsTheCosineAndUpdatesGetTheRootsLength") {
        // cosines 1, 0 and -1: only the first counts, at length 4.
        CHECK(trust({4, 0})({{2, 0}, {0, 16}, {-8, 0}}) == Floats{4, 0});
        // cosines 3/5 and 1, each brought to length 5: (3/5 · (3, 4) + 1 · (5, 0)) / (8/5).
        const Floats both = trust({5, 0})({{3, 4}, {1, 0}});
        CHECK(both[0] == doctest::Approx(6.8 / 1.6));
        CHECK(both[1] == doctest::Approx(2.4 / 1.6));
    }

    TEST_CASE("WithoutTrustTheModelStays") {
        for (const std::vector<Floats>& updates : {std::vector<Floats>{{-1, 0}, {0, 3}}, {{0, 0}, {0, 0}}})
            CHECK(trust({2, 0})(updates) == Floats{0, 0});
        CHECK(trust({0, 0})({{1, 2}, {3, 4}}) == Floats{0, 0});
    }

    TEST_CASE("AnAttackerOfAnyLengthMovesTheModelByTheRootsLengthAtMost") {
        const Floats moved = trust({1, 2, 2})({{1, 2, 2}, {1e12F, 1e12F, 1e12F}, {-1e12F, 0, 0}});
        CHECK(length(moved) <= 3.0 * (1 + 1e-6));
        CHECK(length(moved) > 2.0);
    }

    TEST_CASE("ScoreIsTheInnerProductLessThePenalty") {
        // scores 8 - 16/4, 4 - 4/4, 0 - 1/4, -8 - 16/4
        const std::vector<Floats> updates{{4, 0}, {2, 0}, {0, 1}, {-4, 0}};
        CHECK(score({2, 0}, 3, 0.25)(updates) == Floats{4, 0});
        CHECK(score({2, 0}, 2, 0.25)(updates) == Floats{3, 0});
        CHECK(score({2, 0}, 0, 0.25)(updates) == Floats{0.5, 0.25});
        // scores 8 - 16, 4 - 4, 0 - 1, -8 - 16
        CHECK(score({2, 0}, 3, 1.0)(updates) == Floats{2, 0});
        CHECK(score({2, 0}, 2, 1.0)(updates) == Floats{1, 0.5});
    }

    TEST_CASE("OfEqualScoresTheEarlierComesFirstAndOneUpdateIsLeftAtLeast") {
        CHECK(score({1, 0}, 1, 0.0)({{1, 4}, {1, 8}}) == Floats{1, 4});
        CHECK(score({1, 0}, 7, 0.0)({{1, 4}, {2, 8}}) == Floats{2, 8});
    }
}
