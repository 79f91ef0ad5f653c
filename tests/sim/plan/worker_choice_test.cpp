// Choosing the number of workers from given timings; nothing is measured here.
#include "sim/plan/worker_choice.h"

#include "sim/plan/choice_cache.h"
#include "tests/support/golden_messages.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

using Counts = std::vector<std::uint32_t>;

/// Turns of `turn_s` each; with n workers, 10 n steps per second in the first turn and n in all others.
struct Race {
    double now_s = 0.0;
    double turn_s;
    Counts tried;

    std::vector<Throughput> run(const Counts& candidates, double budget_s) {
        const auto try_one = [&](std::uint32_t workers) {
            now_s += turn_s / static_cast<double>(candidates.size());
            tried.push_back(workers);
            return static_cast<double>(tried.size() <= candidates.size() ? 10 * workers : workers);
        };
        return measure_in_turns(
            candidates, try_one, [&] { return now_s; }, budget_s);
    }
};

struct CacheHome {
    CacheHome() { setenv("XDG_CACHE_HOME", folder.path().c_str(), 1); }
    ~CacheHome() { unsetenv("XDG_CACHE_HOME"); }
    testing::TemporaryFolder folder;
};

WorkerChoice probed() {
    return {.by = ChosenBy::Probe, .workers = 2, .mps = true, .measured = {{4, false, 121.4}, {2, true, 120.0}}, .cost_s = 0.5};
}

}  // namespace

TEST_SUITE("WorkerChoice") {
    TEST_CASE("CandidatesAreDistinctDescendAndEndAtTheMost") {
        CHECK(candidates_on_cores(1) == Counts{1});
        CHECK(candidates_on_cores(2) == Counts{2, 1});
        CHECK(candidates_on_cores(3) == Counts{3, 2, 1});
        CHECK(candidates_on_cores(16) == Counts{16, 12, 8, 4});
        CHECK(candidates_on_device(1) == Counts{1});
        CHECK(candidates_on_device(8) == Counts{8, 4, 2, 1});
        CHECK(candidates_on_device(47) == Counts{47, 32, 16, 8, 4, 2, 1});
    }

    TEST_CASE("FewestWorkersWithinThreePercentWin") {
        const auto best = [](const std::vector<Throughput>& measured) { return fewest_of_the_fastest(measured); };
        CHECK(best({{4, false, 100.0}, {2, false, 97.5}, {1, false, 60.0}}).workers == 2);
        CHECK(best({{4, false, 100.0}, {2, false, 96.5}, {1, false, 60.0}}).workers == 4);
        CHECK(best({{4, false, 90.0}, {2, false, 100.0}}).workers == 2);
        CHECK(best({{2, true, 100.0}, {2, false, 98.0}}).mps == false);
        CHECK(best({{2, false, 90.0}, {2, true, 100.0}}).mps == true);
    }

    TEST_CASE("ProbeTakesATwentiethOfTheRunOrThreeSecondsAndAShortRunNone") {
        CHECK(probe_budget_s(19.9) == 0.0);
        CHECK(probe_budget_s(40.0) == doctest::Approx(2.0));
        CHECK(probe_budget_s(1e6) == 3.0);
    }

    TEST_CASE("TurnsGoOnWithinTheBudgetAndTheFirstDoesNotCount") {
        Race race{.turn_s = 0.25, .tried = {}};
        const std::vector<Throughput> measured = race.run({4, 2}, 1.1);
        CHECK(race.tried == Counts{4, 2, 4, 2, 4, 2, 4, 2});
        CHECK(race.now_s <= 1.1);
        REQUIRE(measured.size() == 2);
        CHECK(measured[0].workers == 4);
        CHECK(measured[0].steps_per_s == 4.0);
        CHECK(measured[1].steps_per_s == 2.0);
    }

    TEST_CASE("NothingIsMeasuredWhereTwoTurnsDoNotFit") {
        Race race{.turn_s = 1.0, .tried = {}};
        CHECK(race.run({4, 2}, 2.5).empty());
        CHECK(race.now_s <= 2.5);
        CHECK(Race{.turn_s = 1.0, .tried = {}}.run({4, 2}, -1.0).empty());
    }

    TEST_CASE("AmpleBudgetEndsAfterSevenTurns") {
        Race race{.turn_s = 0.01, .tried = {}};
        race.run({2}, 1000.0);
        CHECK(race.tried.size() == 8);
    }

    TEST_CASE("ChoiceIsToldWithItsMeasurements") {
        CHECK_MESSAGE_IS("plan", "probe", describe(probed()));
        WorkerChoice choice = probed();
        choice.by = ChosenBy::Cache;
        CHECK_MESSAGE_IS("plan", "cache", describe(choice));
        choice.disturbed = true;
        CHECK_MESSAGE_IS("plan", "cache, disturbed", describe(choice));
        CHECK(describe({}) == "");
    }

    TEST_CASE("ChoiceSurvivesItsJson") {
        WorkerChoice choice = probed();
        choice.disturbed = true;
        const nlohmann::json json = to_json(choice);
        const auto back = choice_from(json, 2);
        REQUIRE(back);
        CHECK(to_json(*back) == json);
        CHECK(back->workers == 2);
        CHECK(json["by"] == "probe");
        CHECK(json["disturbed"] == true);
        CHECK(json["measured"][1] == nlohmann::json{{"workers", 2}, {"mps", true}, {"steps_per_s", 120.0}});
        WorkerChoice given;
        given.by = ChosenBy::Config;
        CHECK(to_json(given).is_null());
        for (const char* wrong :
             {"null", "[]", R"({"by": "moon"})", R"({"by": "probe", "mps": 1, "cost_s": 0, "measured": []})",
              R"({"by": "probe", "mps": true, "cost_s": 0, "measured": [{}]})"})
            CHECK_FALSE(choice_from(nlohmann::json::parse(wrong), 2));
    }
}

TEST_SUITE("ChoiceCache") {
    TEST_CASE("WhatWasWrittenIsReadForTheSameKeyOnly") {
        const CacheHome home;
        ChoiceCache("a").write(probed());
        const auto known = ChoiceCache("a").read();
        REQUIRE(known);
        CHECK(known->workers == 2);
        CHECK(known->mps);
        CHECK(known->by == ChosenBy::Cache);
        CHECK(known->cost_s == 0.0);
        CHECK(known->measured.size() == 2);
        CHECK_FALSE(ChoiceCache("b").read());
        CHECK(ChoiceCache("a").file().parent_path() == home.folder.path() / "fedhive");
    }

    TEST_CASE("DamagedFileIsAsGoodAsNoneAndIsReplaced") {
        const CacheHome home;
        const ChoiceCache cache("a");
        cache.write(probed());
        for (const char* damaged : {"", "{", "[]", R"({"workers": -1})",
                                    R"({"workers": 0, "by": "probe", "mps": false, "cost_s": 1, "measured": []})"}) {
            std::ofstream(cache.file()) << damaged;
            CHECK_FALSE(cache.read());
        }
        cache.write(probed());
        CHECK(cache.read());
    }

    TEST_CASE("FolderThatCannotBeWrittenIsNoError") {
        const CacheHome home;
        std::ofstream(home.folder.path() / "fedhive") << "a file stands where the folder would";
        const ChoiceCache cache("a");
        cache.write(probed());
        CHECK_FALSE(cache.read());
    }

    TEST_CASE("WithoutACacheHomeTheHomesIsTakenAndWithoutAHomeNone") {
        const std::string home = std::getenv("HOME") == nullptr ? "" : std::getenv("HOME");
        setenv("XDG_CACHE_HOME", "relative", 1);
        setenv("HOME", "/home/somebody", 1);
        CHECK(ChoiceCache("a").file().parent_path() == "/home/somebody/.cache/fedhive");
        unsetenv("HOME");
        CHECK(ChoiceCache("a").file().empty());
        ChoiceCache("a").write(probed());
        CHECK_FALSE(ChoiceCache("a").read());
        setenv("HOME", home.c_str(), 1);
        unsetenv("XDG_CACHE_HOME");
    }
}
