// What a client may take.
#include "sim/fleet/deadlines.h"

#include <doctest/doctest.h>

#include <optional>

using namespace fedhive;
using namespace fedhive::sim;

TEST_SUITE("Deadlines") {
    TEST_CASE("DeadlineIsFixedOrLearnedFromTheSlowestStep") {
        Deadlines deadlines(std::nullopt);
        CHECK(deadlines.of_client(100) == 300.0);
        clients::ClientResult result;
        result.steps = 10;
        result.seconds = 5.0;
        deadlines.learn(result);
        CHECK(deadlines.of_client(100) == 30.0 + 20.0 * 0.5 * 100);
        CHECK(Deadlines(7.0).of_client(100) == 7.0);
    }
}
