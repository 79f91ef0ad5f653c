#include "sim/screen/round_lines.h"

#include "sim/screen/screen_text.h"

#include <doctest/doctest.h>

using namespace fedhive::sim;

namespace {

RunProgress some_progress() {
    return {.round = 9,
            .rounds = 10,
            .done = 8.4,
            .elapsed_s = 24.0,
            .rounds_per_s = 0.333,
            .eta_s = 5.0,
            .busy = 3,
            .workers = 4,
            .quality = 0.98,
            .metric = "accuracy"};
}

}  // namespace

TEST_SUITE("RoundLines") {
    TEST_CASE("WhatFitsIsDecidedByTheWidth") {
        const RunProgress progress = some_progress();
        CHECK(progress_line(progress, 199) ==
              "round 9/10 █████████████████████████░░░░░  84 % · 00:24 · 0.33 rounds/s · ETA 00:05 · 3/4 workers · accuracy "
              "0.9800");
        CHECK(progress_line(progress, 79) == "round 9/10 ████████░░  84 % · 00:24 · ETA 00:05 · 3/4 workers · accuracy 0.9800");
        CHECK(progress_line(progress, 59) == "round 9/10 ██████████░░  84 % · ETA 00:05 · accuracy 0.9800");
        CHECK(progress_line(progress, 39) == "round 9/10 ████████░░  84 % · ETA 00:05");
        CHECK(progress_line(progress, 16) == "round 9/10  84 %");
        CHECK(progress_line(progress, 5) == "roun…");
    }

    TEST_CASE("NoWidthIsExceeded") {
        for (std::size_t width = 1; width < 240; ++width) {
            const std::string line = progress_line(some_progress(), width);
            CHECK(columns(line) <= width);
            CHECK((width < 16 || line.find("…") == std::string::npos));  // whole parts only
        }
    }

    TEST_CASE("WhatIsNotKnownIsLeftOut") {
        RunProgress progress;
        progress.round = 1;
        progress.rounds = 200;
        CHECK(progress_line(progress, 40) == "round 1/200 ░░░░░░░░░░░░░░   0 % · 00:00");
        progress.rounds = 0;
        progress.workers = 1;
        CHECK(progress_line(progress, 199) == "round 1 · 00:00 · 1 worker");
    }

    TEST_CASE("SlowRoundsAreGivenInSeconds") {
        CHECK(rate_text(12.5) == "12.50 rounds/s");
        CHECK(rate_text(0.025) == "40.0 s/round");
    }

    TEST_CASE("RowsStandBelowTheirHeads") {
        const RoundRow row{.round = 12,
                           .version = 11,
                           .cohort = 10,
                           .accepted = 9,
                           .failed = 1,
                           .train_loss = 0.25,
                           .test_loss = std::nullopt,
                           .quality = 0.5,
                           .wall_s = 1.25,
                           .virtual_s = std::nullopt};
        CHECK(round_head(79, "accuracy") == " round  version  accepted  train loss  test loss   accuracy   seconds");
        CHECK(round_line(row, 79) == "    12       11      9/10      0.2500          -     0.5000     1.250");
        CHECK(round_head(39, "accuracy") == " round  accepted   accuracy   seconds");
        CHECK(round_line(row, 39) == "    12      9/10     0.5000     1.250");
    }
}
