#include "sim/round/make_mode.h"

#include "aggregation/memory/host_arena.h"
#include "sim/round/slot_plan.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

Mode with(std::size_t in_flight, std::size_t quorum, bool late_join) {
    Mode mode;
    mode.in_flight = in_flight;
    mode.quorum = quorum;
    mode.late_join = late_join;
    return mode;
}

}  // namespace

TEST_SUITE("Mode") {
    TEST_CASE("DiscountsAreTheClosedForms") {
        const Staleness constant{};
        const Staleness hinge{Staleness::Function::Hinge, 0.5, 4.0};
        const Staleness polynomial{Staleness::Function::Polynomial, 0.5, 4.0};
        for (const Staleness& any : {constant, hinge, polynomial}) CHECK(any.discount(0) == 1.0);
        CHECK(constant.discount(1000) == 1.0);
        CHECK(hinge.discount(4) == 1.0);
        CHECK(hinge.discount(5) == 1.0 / 1.5);
        CHECK(hinge.discount(10) == 0.25);
        CHECK(polynomial.discount(3) == 0.5);
        CHECK(polynomial.discount(15) == 0.25);
        CHECK(Staleness{Staleness::Function::Polynomial, 1.0, 0.0}.discount(7) == 0.125);
    }

    TEST_CASE("RoomIsWhatIsNotInFlightAndShrinksAtTheEndOnlyWithDrain") {
        Mode mode = with(10, 3, true);
        CHECK(mode.room(0, 5, 0) == 10);
        CHECK(mode.room(7, 1, 0) == 3);
        CHECK(mode.room(9, 1, 2) == 1);
        CHECK(mode.room(10, 1, 0) == 0);
        mode.drain = true;
        CHECK(mode.room(7, 4, 0) == 3);
        CHECK(mode.room(7, 3, 0) == 2);  // nine more will arrive
        CHECK(mode.room(7, 2, 0) == 0);
        CHECK(mode.room(3, 1, 0) == 0);
        CHECK(mode.room(0, 1, 0) == 3);
        CHECK(mode.room(9, 4, 1) == 1);
        CHECK(mode.room(9, 4, 2) == 1);  // ten more will arrive
        CHECK(mode.room(7, 3, 1) == 1);
        CHECK(mode.room(1, 1, 2) == 0);
    }

    TEST_CASE("GlobalRegionsAreEnoughForThoseInFlight") {
        CHECK(with(10, 10, false).num_globals() == 2);
        CHECK(with(10, 3, false).num_globals() == 2);   // no client stays in flight over a step
        CHECK(with(10, 10, true).num_globals() == 11);  // nine sent in nine rounds, the published one, the next
        CHECK(with(10, 3, true).num_globals() == 11);
        CHECK(with(10, 1, true).num_globals() == 11);
        Mode by_steps = with(10, 1, false);
        by_steps.by_steps = true;
        CHECK(by_steps.num_globals() == 11);
    }

    TEST_CASE("WhoHasArrivedKeepsItsSlotUntilTheRoundEnds") {
        const SlotPlan one = SlotPlan::even(1);
        CHECK(one.num_slots(with(10, 10, false)) == 10);
        CHECK(one.num_slots(with(10, 3, false)) == 10);
        CHECK(one.num_slots(with(10, 10, true)) == 19);
        CHECK(one.num_slots(with(10, 3, true)) == 12);
        CHECK(one.num_slots(with(10, 1, true)) == 10);
    }

    TEST_CASE("BuffersTakeTheMeanWhereTheServersPartIsTheStrategys") {
        aggregation::Layout layout;
        layout.add("0.weight", {32});
        RunConfig run;
        run.strategy.name = "fedadam";
        const aggregation::HostArena arena({32, 1, 2});
        const auto stepped = [&] {
            const Strategy strategy = make_mode_strategy(run, arena, layout, {}, 4);
            const std::vector<float> global(32, 8.0F), update(32, 4.0F);
            std::vector<float> next(32);
            strategy.server_optimizer->step(next, global, {update, 1.0, 1});
            return std::pair(next[0], next[16]);
        };
        const auto [weight, other] = stepped();
        CHECK(weight == other);
        layout = {};
        layout.add("0.weight", {1});
        layout.add("0.running_mean", {1}, aggregation::TensorKind::Buffer);
        CHECK(stepped() == std::pair(weight, 12.0F));
        CHECK(weight != 12.0F);
        run.strategy.name = "fedavg";
        run.mode.name = "async";  // mixes models
        CHECK(stepped().first == stepped().second);
    }

    TEST_CASE("ModeOfTheConfig") {
        RunConfig run;
        run.data.partition.clients = 20;
        run.training.cohort = 8;
        CHECK(make_mode(run).quorum == 8);
        CHECK_FALSE(make_mode(run).late_join);
        run.mode.name = "semi_async";
        run.mode.values = {{"quorum", std::optional<std::int64_t>(3)}, {"at_end", "drain"}};
        const Mode buffered = make_mode(run);
        CHECK(buffered.in_flight == 8);
        CHECK(buffered.quorum == 3);
        CHECK(buffered.late_join);
        CHECK(buffered.drain);
        CHECK(buffered.payload == clients::Payload::Update);
        CHECK(buffered.staleness.discount(3) == 0.5);
        run.mode = {.name = "async", .values = {}};
        CHECK(make_mode(run).quorum == 1);
        CHECK(make_mode(run).payload == clients::Payload::Model);
    }
}
