#include "sim/round/flight.h"

#include "aggregation/base/error.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

Flight flight_with_steps(std::uint64_t steps_left) {
    Flight flight;
    flight.clients.push_back({.client_id = 4});
    flight.steps_left = steps_left;
    return flight;
}

}  // namespace

TEST_SUITE("Flight") {
    TEST_CASE("GoesFromTheModelToTheBoardAndArrivesOnce") {
        Flight flight = flight_with_steps(0);
        CHECK(flight.flies());
        CHECK_FALSE(flight.was_put());
        CHECK_THROWS_AS(flight.arrive(), Fault);
        flight.put();
        CHECK(flight.flies());
        CHECK(flight.was_put());
        flight.put();  // another attempt
        CHECK(flight.state == FlightState::OnBoard);
        flight.arrive();
        CHECK_FALSE(flight.flies());
        CHECK(flight.was_put());
        flight.put();  // an attempt of a client whose arrival was known
        CHECK(flight.state == FlightState::Arrived);
        CHECK_THROWS_AS(flight.arrive(), Fault);
        CHECK_THROWS_AS(flight.wait(3), Fault);
    }

    TEST_CASE("WaitsForTheModelOfEachStep") {
        Flight flight = flight_with_steps(1);
        CHECK_THROWS_AS(flight.pull(1, 0, 0.0), Fault);
        flight.wait(7);
        CHECK(flight.waits_since == 7);
        CHECK_FALSE(flight.flies());
        CHECK_FALSE(flight.was_put());
        CHECK_THROWS_AS(flight.put(), Fault);
        flight.pull(9, 2, 1.5);
        CHECK(flight.state == FlightState::HasModel);
        CHECK(flight.version == 9);
        CHECK(flight.task.global_index == 2);
        CHECK(flight.arrives_s == 1.5);
        CHECK_THROWS_AS(flight.end_step(16, 10), Fault);
        flight.put();
        flight.clients.front().attempts.attempt = 3;
        flight.clients.front().attempts.forgiven = 1;
        flight.end_step(16, 10);
        CHECK(flight.state == FlightState::Waits);
        CHECK(flight.waits_since == 10);
        CHECK(flight.examples_before == 16);
        CHECK(flight.steps_left == 0);
        CHECK(flight.task.step == 1);
        CHECK(flight.clients.front().attempts.attempt == 1);
        CHECK(flight.clients.front().attempts.forgiven == 0);
        flight.pull(10, 0, 2.0);
        flight.put();
        CHECK_THROWS_AS(flight.end_step(16, 11), Fault);  // it has no step left
    }
}
