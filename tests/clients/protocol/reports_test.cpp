// The list of a run's reports.
#include "clients/protocol/reports.h"

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <limits>

using namespace fedhive;
using namespace fedhive::clients;

TEST_SUITE("Reports") {
    TEST_CASE("AreFoundByTheirNames") {
        Reports reports;
        CHECK(reports.size() == 0);
        CHECK(reports.bytes() == 0);
        CHECK_FALSE(reports.has("sent_loss"));
        reports.add("sent_loss");
        reports.add("sent_accuracy");
        CHECK(reports.size() == 2);
        CHECK(reports.bytes() == 16);
        CHECK(reports.name(1) == "sent_accuracy");
        CHECK(reports.index_of("sent_accuracy") == 1);
        ClientResult result;
        result.reports = {0.5, 0.25};
        CHECK(reports.of(result, "sent_accuracy") == 0.25);
        CHECK_THROWS_AS(reports.index_of("sent"), Fault);
        CHECK_THROWS_AS(reports.name(2), Fault);
    }

    TEST_CASE("AreSixteenAtMostEachWithANameOfItsOwn") {
        Reports reports;
        for (std::size_t i = 0; i < Reports::kMost; ++i) reports.add(fmt::format("report_{}", i));
        CHECK(reports.name(15) == "report_15");
        CHECK_THROWS_AS(reports.add("one_more"), Fault);
        Reports one;
        one.add("twice");
        CHECK_THROWS_AS(one.add("twice"), Fault);
        CHECK_THROWS_AS(one.add(""), Fault);
        const std::string longest(Reports::kLongestName, 'a');
        one.add(longest);
        CHECK(one.name(1) == longest);
        CHECK(one.has(longest));
        CHECK_THROWS_AS(one.add(longest + "a"), Fault);
    }

    TEST_CASE("TheFirstThatIsNotFiniteIsNamedAndValuesBehindTheListDoNotCount") {
        Reports reports;
        reports.add("a");
        reports.add("b");
        ClientResult result;
        CHECK(reports.not_finite(result).empty());
        result.reports[2] = std::numeric_limits<double>::quiet_NaN();
        CHECK(reports.not_finite(result).empty());
        result.reports[1] = std::numeric_limits<double>::infinity();
        CHECK(reports.not_finite(result) == "b");
        result.reports[0] = std::numeric_limits<double>::quiet_NaN();
        CHECK(reports.not_finite(result) == "a");
    }
}
