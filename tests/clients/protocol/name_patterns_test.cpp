#include "clients/protocol/name_patterns.h"

#include "aggregation/base/error.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::clients;

TEST_SUITE("NamePatterns") {
    TEST_CASE("PatternsAreThoseOfAShell") {
        const NamePatterns patterns = NamePatterns::of({"conv*.weight", "fc[12].bias", "head.?"});
        CHECK(patterns.any());
        for (const char* name : {"conv1.weight", "conv.a.weight", "fc1.bias", "fc2.bias", "head.0"})
            CHECK(patterns.match(name));
        for (const char* name : {"conv1.bias", "a.conv1.weight", "fc3.bias", "fc1.bias.x", "head.10", "head."})
            CHECK_FALSE(patterns.match(name));
        CHECK_FALSE(NamePatterns().any());
        CHECK_FALSE(NamePatterns().match(""));
    }

    TEST_CASE("EmptyPatternsLineBreaksAndTooMuchTextAreRefused") {
        CHECK_THROWS_AS(NamePatterns::of({"a", ""}), ConfigError);
        CHECK_THROWS_AS(NamePatterns::of({"a\nb"}), ConfigError);
        const std::string longest(NamePatterns::kMostText - 1, 'a');
        CHECK(NamePatterns::of({longest}).match(longest));
        CHECK_THROWS_WITH_AS(NamePatterns::of({longest + "a"}), doctest::Contains("1024 characters in total; allowed: 1023"),
                             ConfigError);
    }
}
