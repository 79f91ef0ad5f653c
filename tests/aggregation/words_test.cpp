#include "aggregation/base/words.h"

#include <doctest/doctest.h>

using namespace fedhive;

namespace {

enum class Pace { Slow, Even, Fast };
constexpr auto all_words(Pace) { return std::array{"slow", "even", "fast"}; }

}  // namespace

TEST_SUITE("Words") {
    TEST_CASE("EachValueHasItsWord") {
        CHECK(word_of(Pace::Slow) == "slow");
        CHECK(word_of(Pace::Fast) == "fast");
        CHECK(words_of<Pace>() == std::vector<std::string>{"slow", "even", "fast"});
        CHECK((from_word<Pace>("even") == Pace::Even));
    }

    TEST_CASE("OtherWordsHaveNoValue") {
        for (const char* word : {"", "Slow", "slow ", "faster"}) CHECK_FALSE(from_word<Pace>(word).has_value());
    }

    TEST_CASE("NumberThatIsNoValueIsAFault") {
        for (const int number : {3, -1}) CHECK_THROWS_AS(word_of(static_cast<Pace>(number)), Fault);
    }
}
