#include "aggregation/base/keys.h"

#include "aggregation/base/error.h"

#include <doctest/doctest.h>

using namespace fedhive;

namespace {

enum class Tone { High, Deep };
constexpr auto all_words(Tone) { return std::array{"high", "deep"}; }

const std::vector<KeySpec> kKeys = {
    {.name = "rate", .default_value = 0.5, .range = above(0), .doc = ""},
    {.name = "count", .default_value = std::int64_t{3}, .range = between(1, kMost), .doc = ""},
    {.name = "shape", .default_value = std::vector<double>{}, .doc = ""},
    {.name = "kind", .default_value = "plain", .choices = {"plain", "other"}, .doc = ""},
};

}  // namespace

TEST_SUITE("Keys") {
    TEST_CASE("RangesSayWhatTheyHold") {
        CHECK(above(0).text() == "above 0");
        CHECK(at_least(-1).text() == "-1 or more");
        CHECK(between(1, kMost).text() == "1 to 1e9");
        CHECK(fraction().text() == "above 0, at most 1");
        CHECK(fraction_below_one().text() == "0 or more, below 1");
        CHECK(KeyRange{}.text().empty());
        CHECK_FALSE(above(0).contains(0));
        CHECK(above(0).contains(1e-300));
        CHECK(fraction().contains(1));
        CHECK_FALSE(fraction_below_one().contains(1));
    }

    TEST_CASE("WhatIsNotGivenHasItsDefault") {
        const Values values = completed({{"count", std::int64_t{7}}}, kKeys);
        CHECK(values.size() == kKeys.size());
        CHECK(values.number("rate") == 0.5);
        CHECK(values.integer("count") == 7);
        CHECK(values.numbers("shape").empty());
        CHECK(values.word("kind") == "plain");
        CHECK(values.number_or("rate", 2.0) == 0.5);
        CHECK(values.number_or("none", 2.0) == 2.0);
    }

    TEST_CASE("WordOfAnEnumIsItsValue") {
        const std::vector<KeySpec> keys = {
            {.name = "tone", .default_value = Tone::Deep, .choices = words_of<Tone>(), .doc = ""}};
        CHECK(completed({}, keys).word("tone") == "deep");
        CHECK((completed({}, keys).choice<Tone>("tone") == Tone::Deep));
        CHECK((completed({{"tone", "high"}}, keys).choice<Tone>("tone") == Tone::High));
        CHECK((completed({{"tone", Tone::High}}, keys).choice<Tone>("tone") == Tone::High));
        CHECK_THROWS_WITH_AS((void)completed({{"tone", "shrill"}}, keys).choice<Tone>("tone"),
                             doctest::Contains("'tone' cannot be 'shrill'"), Fault);
    }

    TEST_CASE("NumbersAreByNameAndOneThatIsLeftOutIsMinusOne") {
        const std::vector<KeySpec> keys = {{.name = "count", .default_value = std::optional<std::int64_t>(), .doc = ""},
                                           {.name = "rate", .default_value = std::optional<double>(), .doc = ""},
                                           {.name = "kind", .default_value = "plain", .doc = ""},
                                           {.name = "q", .default_value = 0.5, .doc = ""}};
        using Numbers = std::map<std::string, double>;
        CHECK((numbers_of(keys, completed({}, keys)) == Numbers{{"count", -1}, {"rate", -1}, {"q", 0.5}}));
        CHECK((numbers_of(keys, completed({{"count", std::optional<std::int64_t>(3)}, {"rate", std::optional(0.25)}}, keys)) ==
               Numbers{{"count", 3}, {"rate", 0.25}, {"q", 0.5}}));
    }

    TEST_CASE("WhatIsOfAnotherTypeOrUnknownIsAFault") {
        CHECK_THROWS_AS(completed({{"rate", std::int64_t{1}}}, kKeys), Fault);
        CHECK_THROWS_AS(completed({{"rates", 1.0}}, kKeys), Fault);
        const Values values = completed({}, kKeys);
        CHECK_THROWS_WITH_AS((void)values.integer("rate"), doctest::Contains("'rate' is of another type"), Fault);
        CHECK_THROWS_WITH_AS((void)values.number("none"), doctest::Contains("nothing is given for 'none'"), Fault);
    }
}
