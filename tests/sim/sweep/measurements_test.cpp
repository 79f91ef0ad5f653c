#include "sim/sweep/measurements.h"

#include <doctest/doctest.h>

using namespace fedhive::sim;

TEST_SUITE("Measurements") {
    TEST_CASE("EstimateHoldsUntilSomethingIsMeasured") {
        Measurements measurements;
        CHECK(measurements.host_bytes("a", 1, 500) == 500);
        measurements.note_host("a", 1, 1000);
        CHECK(measurements.host_bytes("a", 1, 500) == 1100);
        CHECK(measurements.host_bytes("b", 1, 500) == 500);
        measurements.note_host("a", 1, 900);
        CHECK(measurements.host_bytes("a", 1, 500) == 1100);
        CHECK(measurements.host_bytes("a", 3, 500) == 2200);
    }

    TEST_CASE("DeviceBytesOfAnotherModelAreTheMostThatWasMeasured") {
        Measurements measurements;
        CHECK_FALSE(measurements.device_bytes("a"));
        measurements.note_device("a", 100);
        measurements.note_device("b", 1000);
        CHECK(measurements.device_bytes("a") == 110);
        CHECK(measurements.device_bytes("c") == 1100);
    }

    TEST_CASE("KeyIsOfWhatTakesMemory") {
        RunConfig run;
        run.data.format = "synthetic";
        run.model.name = "lr";
        const std::string key = memory_key(run);
        RunConfig other = run;
        other.name = "other";
        other.seed = 7;
        other.rounds = 99;
        other.workers = 4;
        other.training.optimizer.values.set("lr", 0.5);
        CHECK(memory_key(other) == key);
        other.data.values.set("num_train", std::int64_t{7000});
        CHECK(memory_key(other) != key);
        other = run;
        other.training.batch_size = 64;
        CHECK(memory_key(other) != key);
    }
}
