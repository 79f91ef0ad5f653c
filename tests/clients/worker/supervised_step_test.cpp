#include "clients/worker/supervised_step.h"

#include "aggregation/base/error.h"
#include "aggregation/memory/param_buffer.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace fedhive;
using namespace fedhive::clients;

namespace {

/// Counts its halves.
struct CountingStep final : OneRowStep<> {
    aggregation::ParamSpan parameters_of(std::size_t) override { return local; }
    aggregation::ParamSpan gradient() override { return ++in_one_piece, slope; }
    aggregation::ParamSpan optimizer_state() override { return {}; }
    void begin(const ClientStart&) override {}
    void compute_gradients(std::span<const RowBatch>) override { ++computed; }
    void apply_gradients() override { ++applied; }
    double loss_of(std::size_t) override { return 0.0; }

    std::vector<float> local = std::vector<float>(4);
    std::vector<float> slope = std::vector<float>(4);
    int computed = 0;
    int applied = 0;
    int in_one_piece = 0;
};

struct Setting {
    void expect(FaultKind kind, double seconds = 0.0) { supervision.expect({kind, 0, seconds}); }

    CountingStep step;
    WorkerCell cell;
    int asked = 0;
    bool stop = false;
    Supervision supervision{cell, [this] { return ++asked, stop; }, false};
    SupervisedStep supervised{step, supervision};
    std::vector<std::uint32_t> batch{0};
};

}  // namespace

TEST_SUITE("SupervisedStep") {
    TEST_CASE("BeatsAndAsksOnceInAWholeStepAndOnceWhereOnlyTheGradientIsComputed") {
        for (const bool whole : {true, false}) {
            Setting setting;
            for (int i = 1; i <= 3; ++i) {
                setting.cell.heartbeat_ns = 0;
                if (whole)
                    setting.supervised.step(setting.batch);
                else
                    setting.supervised.compute_gradient(setting.batch);
                CHECK(setting.cell.heartbeat_ns > 0);
                CHECK(setting.asked == i);
                CHECK(setting.step.computed == i);
                CHECK(setting.step.applied == (whole ? i : 0));
            }
        }
    }

    TEST_CASE("AStepWithoutAFaultDoesNotAskForTheGradientInOnePiece") {
        Setting setting;
        setting.supervised.step(setting.batch);
        setting.supervision.update_written(0, setting.step.local);
        CHECK(setting.step.in_one_piece == 0);
        setting.expect(FaultKind::Nan);
        setting.supervised.step(setting.batch);
        CHECK(setting.step.in_one_piece == 1);
    }

    TEST_CASE("StopEndsTheClientInEitherWay") {
        Setting setting;
        setting.stop = true;
        CHECK_THROWS_WITH_AS(setting.supervised.step(setting.batch), "stopped", TaskFailed);
        CHECK_THROWS_WITH_AS(setting.supervised.compute_gradient(setting.batch), "stopped", TaskFailed);
    }

    TEST_CASE("FaultComesOnceInTheFirstStepInEitherWay") {
        for (const bool whole : {true, false}) {
            Setting setting;
            setting.expect(FaultKind::Throw);
            const auto take = [&] {
                whole ? setting.supervised.step(setting.batch) : setting.supervised.compute_gradient(setting.batch);
            };
            CHECK_THROWS_WITH_AS(take(), doctest::Contains("injected"), TaskFailed);
            CHECK_NOTHROW(take());
        }
    }

    TEST_CASE("FaultAtTheUpdateComesWhenItIsWrittenAndNotInTheStep") {
        Setting setting;
        setting.supervision.expect({FaultKind::Throw, 1});
        CHECK_NOTHROW(setting.supervised.step(setting.batch));
        CHECK_THROWS_WITH_AS(setting.supervision.update_written(0, setting.step.local), doctest::Contains("injected"),
                             TaskFailed);
        CHECK_NOTHROW(setting.supervision.update_written(0, setting.step.local));
    }

    TEST_CASE("FaultThatNeverCameIsForgottenWithItsTask") {
        Setting setting;
        setting.expect(FaultKind::Throw);
        setting.supervision.expect_nothing();
        CHECK_NOTHROW(setting.supervised.step(setting.batch));
    }

    TEST_CASE("InjectedNanIsInTheGradient") {
        Setting setting;
        setting.expect(FaultKind::Nan);
        setting.supervised.compute_gradient(setting.batch);
        CHECK(std::isnan(setting.step.slope[0]));
        CHECK(setting.step.slope[1] == 0.0F);
    }
}
