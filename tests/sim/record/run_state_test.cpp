#include "sim/record/run_state.h"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

using namespace fedhive;
using namespace fedhive::sim;

TEST_SUITE("RunState") {
    TEST_CASE("StatusInASweepIsOneOfSix") {
        const std::vector<std::pair<std::string, RunState>> known{
            {"waiting", RunState::Waiting},   {"running", RunState::Running}, {"paused", RunState::Paused},
            {"finished", RunState::Finished}, {"stopped", RunState::Stopped}, {"failed", RunState::Failed}};
        for (const auto& [word, state] : known) {
            CAPTURE(word);
            CHECK(word_of(state) == word);
            CHECK((state_in_sweep(word) == state));
        }
        for (const char* other : {"interrupted", "killed", "unknown", "done", "", "Failed"}) {
            CAPTURE(other);
            CHECK_FALSE(state_in_sweep(other).has_value());
        }
    }

    TEST_CASE("ExitStatusTellsAState") {
        CHECK((state_told("running") == RunState::Running));
        CHECK((state_told("finished") == RunState::Finished));
        CHECK((state_told("paused after round 9") == RunState::Paused));
        CHECK((state_told("interrupted by SIGINT") == RunState::Interrupted));
        CHECK((state_told("failed: no memory") == RunState::Failed));
        for (const char* other : {"", "running late", "finished twice", "waiting", "stopped", "manifest.json is damaged"}) {
            CAPTURE(other);
            CHECK_FALSE(state_told(other).has_value());
        }
    }

    TEST_CASE("PauseNamesItsRound") {
        CHECK(paused_after(12) == "paused after round 12");
        CHECK(round_paused_after("paused after round 12") == 12);
        for (const char* other : {"", "paused", "paused after round", "finished", "failed: paused after round 3"})
            CHECK(round_paused_after(other) == 0);
    }
}
