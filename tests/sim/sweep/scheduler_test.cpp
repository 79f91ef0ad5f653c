#include "sim/sweep/scheduler.h"

#include <doctest/doctest.h>

using namespace fedhive::sim;

namespace {

SweepRun run_in(const std::string& mode, Clock clock) {
    SweepRun run;
    run.config.mode.name = mode;
    run.config.clock = clock;
    return run;
}

}  // namespace

TEST_SUITE("Scheduler") {
    TEST_CASE("WorkersAreChosenWhereTheyChangeNoResult") {
        for (const char* mode : {"synchronous", "semi_async", "async", "parameter_server"})
            CHECK(workers_are_free(run_in(mode, Clock::Virtual)));
        for (const char* mode : {"hogwild", "gradient_averaging", "split"})
            CHECK_FALSE(workers_are_free(run_in(mode, Clock::Virtual)));
        CHECK(workers_are_free(run_in("synchronous", Clock::Wall)));
        for (const char* mode : {"semi_async", "async", "parameter_server"})
            CHECK_FALSE(workers_are_free(run_in(mode, Clock::Wall)));
        SweepRun given = run_in("synchronous", Clock::Virtual);
        given.workers_given = true;
        CHECK_FALSE(workers_are_free(given));
    }
}
