#include "aggregation/math/control_variates.h"

#include "aggregation/base/error.h"
#include "tests/aggregation/spans.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::aggregation;
using testing::Floats;

TEST_SUITE("ControlVariates") {
    TEST_CASE("CorrectionIsWhatAllHaveLessWhatTheClientHas") {
        const Floats control{1.0F, -2.0F, 0.5F}, state{0.25F, 4.0F, 0.5F};
        Floats correction(3);
        write_correction(correction, control, state);
        CHECK(correction == Floats{0.75F, -6.0F, 0.0F});
        write_correction(correction, control, ConstParamSpan());
        CHECK(correction == control);
        write_correction(correction, ConstParamSpan(), state);
        CHECK(correction == Floats{-0.25F, -4.0F, -0.5F});
        write_correction(correction, ConstParamSpan(), ConstParamSpan());
        CHECK(correction == Floats(3));
    }

    TEST_CASE("ChangeIsThatOfOptionII") {
        // c_k^+ = c_k - c + (x - y) / (K lr), with y - x = update.
        const Floats control{1.0F, -2.0F, 0.5F}, update{0.5F, 0.0F, -2.0F};
        Floats change(3);
        const ControlChange by_steps{.of_update = -1.0, .by_steps = true};
        write_control_change(change, by_steps, update, control, 4, 0.25F);
        CHECK(change == Floats{-1.5F, 2.0F, 1.5F});
        CHECK_THROWS_AS(write_control_change(change, by_steps, update, control, 0, 0.25F), Fault);
    }

    TEST_CASE("ChangeByTheUpdateAloneKnowsNoStepsAndWhatDoesNotComeDownIsNothing") {
        const Floats update{0.5F, 0.0F, -2.0F};
        Floats change(3);
        write_control_change(change, {.of_update = -0.5}, update, ConstParamSpan(), 0, 0.0F);
        CHECK(change == Floats{-0.25F, 0.0F, 1.0F});
    }

    TEST_CASE("ServerMovesTheModelByItsOptimizerAndTheControlByTheShareOfClients") {
        Memories memories;
        memories.add({.name = kControl, .owner = MemoryOwner::Server, .down = true, .up = true}, {.trainable = 16});
        const auto step = make_control_step(make_server_sgd({.lr = 0.5F}), memories, 10);
        Floats global(32), next(32), mean(32);
        global[0] = 1.0F, global[1] = 2.0F, global[16] = 8.0F, global[17] = -4.0F;
        mean[0] = 2.0F, mean[1] = -2.0F, mean[16] = 10.0F, mean[17] = 20.0F;
        step->step(next, global, {mean, 3.0, 3});
        CHECK(Floats(next.begin(), next.begin() + 2) == Floats{2.0F, 1.0F});
        CHECK(Floats(next.begin() + 16, next.begin() + 18) == Floats{11.0F, 2.0F});
        CHECK_THROWS_AS(make_control_step(make_server_sgd({}), Memories(), 10)->step(next, global, {mean, 3.0, 3}), Fault);
    }
}
