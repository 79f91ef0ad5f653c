#include "aggregation/base/divide_up.h"

#include <doctest/doctest.h>

#include <cstdint>

using namespace fedhive;

TEST_SUITE("DivideUp") {
    TEST_CASE("WhatIsLeftOverCountsAsAWholeAndNothingAsNone") {
        CHECK(divide_up(0U, 4U) == 0);
        CHECK(divide_up(1U, 4U) == 1);
        CHECK(divide_up(8U, 4U) == 2);
        CHECK(divide_up(9U, 4U) == 3);
        CHECK(divide_up(std::int64_t{7}, std::int64_t{2}) == 4);
    }

    TEST_CASE("TheWiderTypeHoldsTheQuotient") {
        CHECK(divide_up((std::uint64_t{1} << 40) + 1, 2U) == (std::uint64_t{1} << 39) + 1);
        CHECK(divide_up(3U, std::uint64_t{1} << 40) == 1);
    }

    TEST_CASE("MultiplesStayAndOthersGoUpToTheNext") {
        CHECK(round_up(0U, 64U) == 0);
        CHECK(round_up(64U, 64U) == 64);
        CHECK(round_up(65U, 64U) == 128);
    }
}
