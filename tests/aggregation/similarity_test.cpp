// FoolsGold's rule: exact small numbers.
#include "tests/aggregation/combine.h"

#include "aggregation/math/sum_rows.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::aggregation;
using testing::CombinedRule;
using testing::Floats;

TEST_SUITE("Similarity") {
    TEST_CASE("ClientsThatSendTheSameDoNotCount") {
        CHECK(CombinedRule("similarity", {})({{2, 0}, {2, 0}, {0, 8}}) == Floats{0, 8});
        // The length does not matter, and nobody counts less for the opposite.
        CHECK(CombinedRule("similarity", {})({{1, 0}, {64, 0}, {0, 8}, {0, -4}}) == Floats{0, 2});
    }

    TEST_CASE("WhoLooksLikeASybilIsPardonedInPart") {
        // cosines with the sybils: 3/5 and 0; pardoned 0.6 · 0.6 / 1, so that α = 0.64 and its logit exceeds 1. Not pardoned: 0.4.
        const std::vector<Floats> updates{{5, 0, 0}, {5, 0, 0}, {3, 4, 0}, {0, 0, 8}};
        CHECK(CombinedRule("similarity", {})(updates) == Floats{1.5, 2, 4});
        // κ (ln(0.64 / 0.36) + 0.5) = 0.25 · 1.0753641
        const Floats weaker = CombinedRule("similarity", {{"confidence", 0.25}})(updates);
        CHECK(weaker[1] / weaker[2] == doctest::Approx(0.2688410 * 4 / 8).epsilon(1e-5));
    }

    TEST_CASE("SimilarityIsOfAllUpdatesSoFar") {
        CombinedRule rule("similarity", {});
        CHECK(rule({{4, 0}, {4, 0}, {0, 8}}) == Floats{0, 8});
        // Sums (4, 4), (4, 0), (0, 16): cosines √½ of the first with the others; alone in this round, no two are alike.
        const Floats second = rule({{0, 4}, {0, 0}, {0, 8}});
        CHECK(second != CombinedRule("similarity", {})({{0, 4}, {0, 0}, {0, 8}}));
        CHECK(second[1] == doctest::Approx(4.0));
    }

    TEST_CASE("WhereAllAreAlikeTheModelStaysAndOneClientCounts") {
        CHECK(CombinedRule("similarity", {})({{1, 2}, {1, 2}, {1, 2}}) == Floats{0, 0});
        CHECK(CombinedRule("similarity", {})({{1, 2}}) == Floats{1, 2});
        CHECK(CombinedRule("similarity", {})({{0, 0}, {0, 0}}) == Floats{0, 0});
    }

    TEST_CASE("RowsAreUpdatesPlusWhatIsKept") {
        const Floats first{1, 2, 3, 4}, second{5, 6, 7, 8}, kept{10, 20, 30, 40};
        SumRows sums;
        const std::vector<ConstParamSpan> rows{first, second};
        const auto columns = sums.columns(rows, std::vector<ConstParamSpan>{{}, kept}, 1, 3);
        CHECK(columns[0] == first.data() + 1);
        CHECK(Floats(columns[1], columns[1] + 3) == Floats{26, 37, 48});
        const InnerProducts products = inner_products_of(rows, 0, std::vector<ConstParamSpan>{{}, kept});
        CHECK(products.dot(0, 1) == 15 + 2 * 26 + 3 * 37 + 4 * 48);
    }
}
