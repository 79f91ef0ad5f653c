// The files of messages, and the helper that compares with them.
#include "tests/support/golden_messages.h"

#include "tests/support/places.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace fs = std::filesystem;
namespace support = fedhive::testing;

namespace {

std::string content_of(const fs::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// "Suite/Case" of every test case in the sources: the suites of a file with every case in it.
std::set<std::string> test_cases() {
    std::set<std::string> found;
    static const std::regex suite("TEST_SUITE(?:_BEGIN)?\\(\"([^\"]+)\"\\)"), test_case("TEST_CASE\\(\\s*\"([^\"]+)\"\\)");
    for (const auto& entry : fs::recursive_directory_iterator(support::source_folder() / "tests")) {
        if (!entry.path().filename().string().ends_with("_test.cpp")) continue;
        const std::string text = content_of(entry.path());
        for (std::sregex_iterator s(text.begin(), text.end(), suite), end; s != end; ++s)
            for (std::sregex_iterator c(text.begin(), text.end(), test_case); c != end; ++c)
                found.insert((*s)[1].str() + "/" + (*c)[1].str());
    }
    return found;
}

}  // namespace

TEST_SUITE("GoldenMessages") {
    TEST_CASE("EveryEntryBelongsToATestCaseOfToday") {
        const std::set<std::string> known = test_cases();
        REQUIRE(known.contains("GoldenMessages/EveryEntryBelongsToATestCaseOfToday"));
        std::size_t entries = 0;
        for (const auto& file : fs::directory_iterator(support::source_folder() / "tests/golden/messages")) {
            std::ifstream in(file.path());
            for (const support::GoldenMessage& message : support::parse_messages(in)) {
                ++entries;
                CHECK_MESSAGE(known.contains(message.test_case), file.path().string(), " has an entry of ", message.test_case,
                              ", which is no test case; take it out");
            }
        }
        CHECK(entries > 500);
    }

    TEST_CASE("WhatIsPrintedIsReadBack") {
        const std::vector<support::GoldenMessage> messages{{"A/B", "one: two | three", "first\nsecond"},
                                                           {"A/Gpu: C", "", "  indented"}};
        std::istringstream in(support::print_messages("some", messages));
        const std::vector<support::GoldenMessage> read = support::parse_messages(in);
        REQUIRE(read.size() == 2);
        for (std::size_t i = 0; i < 2; ++i) {
            CHECK(read[i].test_case == messages[i].test_case);
            CHECK(read[i].name == messages[i].name);
            CHECK(read[i].text == messages[i].text);
        }
    }

    TEST_CASE("AMissingEntryAndAnotherWordingAreNamed") {
        if (std::getenv("FEDHIVE_RECORD_GOLDEN") != nullptr) return;  // which would write the file
        const std::string area = "there is no such file";
        support::GoldenMessages none(area);
        const std::string missing = none.difference("Suite/Case", "name", "a message");
        CHECK(missing.find(area + ".txt has no entry 'Suite/Case | name'") != std::string::npos);
        CHECK(missing.find("FEDHIVE_RECORD_GOLDEN=1") != std::string::npos);
        CHECK(none.difference("Suite/Case", "name", "another").starts_with("two messages are called 'Suite/Case | name'"));
        CHECK(none.difference("Suite/Case", "", "a").find("'Suite/Case | 1'") != std::string::npos);
        CHECK(none.difference("Suite/Case", "", "b").find("'Suite/Case | 2'") != std::string::npos);
        CHECK(none.difference("Suite/Case", "", "a").find("'Suite/Case | 1'") != std::string::npos);
    }

    TEST_CASE("PlacesSizesAndProcessesAreMasked") {
        const support::TemporaryFolder folder;
        CHECK(support::masked(folder.path().string() + "/a.csv:2: b") == "{folder}/a.csv:2: b");
        CHECK(support::masked((support::source_folder() / "configs").string() + " x\n\n") == "{source}/configs x");
        CHECK(support::masked("needs 12 bytes (12 B); wait (process 77), kill -INT 77") ==
              "needs {bytes}; wait (process {pid}), kill -INT {pid}");
        CHECK(support::masked("a fox", {{"fox", "{animal}"}}) == "a {animal}");
        CHECK(support::is_at("c.yaml:1: a: wrong\n  | shown\nc.yaml:2: b: wrong", "c.yaml:1: a\nc.yaml:2: b"));
        CHECK_FALSE(support::is_at("c.yaml:1: a: wrong", "c.yaml:1: a\nc.yaml:2: b"));
        CHECK_FALSE(support::is_at("c.yaml:1: a: wrong\nc.yaml:2: b: wrong", "c.yaml:1: a"));
        CHECK_FALSE(support::is_at("c.yaml:1: ab: wrong", "c.yaml:1: a"));
    }
}
