#include "sim/sweep/packer.h"

#include <doctest/doctest.h>

#include <map>

using namespace fedhive::sim;

namespace {

constexpr std::uint64_t kPlenty = 1ULL << 40;

/// Runs that leave their number of workers to the sweep, the longest first.
std::vector<Waiting> alike(std::size_t count) {
    std::vector<Waiting> runs;
    for (std::size_t i = 0; i < count; ++i)
        runs.push_back({.run = i, .core_seconds = 10.0, .most_workers = 100, .host_bytes = 100});
    return runs;
}

/// pack() on one host.
std::vector<Start> pack(const Room& room, const std::vector<Placed>& placed, const std::vector<Waiting>& waiting) {
    return fedhive::sim::pack({{room, placed}}, waiting);
}

std::map<std::size_t, std::int64_t> workers_by_run(const Room& room, const std::vector<Placed>& placed,
                                                   const std::vector<Waiting>& waiting) {
    std::map<std::size_t, std::int64_t> workers;
    for (const Start& start : pack(room, placed, waiting)) workers[start.run] = start.workers;
    return workers;
}

using Workers = std::map<std::size_t, std::int64_t>;

/// The host of each run.
std::map<std::size_t, std::size_t> sites_by_run(const std::vector<Site>& sites, const std::vector<Waiting>& waiting) {
    std::map<std::size_t, std::size_t> found;
    for (const Start& start : fedhive::sim::pack(sites, waiting)) found[start.run] = start.site;
    return found;
}

using Sites = std::map<std::size_t, std::size_t>;

}  // namespace

TEST_SUITE("Packer") {
    TEST_CASE("OneWorkerEachWhileRunsAreAsManyAsCores") {
        const Room room{.cores = 4, .host_bytes = kPlenty};
        CHECK(workers_by_run(room, {}, alike(9)) == Workers{{0, 1}, {1, 1}, {2, 1}, {3, 1}});
        CHECK(workers_by_run(room, {}, alike(4)) == Workers{{0, 1}, {1, 1}, {2, 1}, {3, 1}});
        CHECK(workers_by_run(room, std::vector<Placed>(3), alike(2)) == Workers{{0, 1}});
        CHECK(workers_by_run(room, std::vector<Placed>(4), alike(2)).empty());
    }

    TEST_CASE("LastRunsShareTheFreeCores") {
        const Room room{.cores = 8, .host_bytes = kPlenty};
        CHECK(workers_by_run(room, {}, alike(1)) == Workers{{0, 8}});
        CHECK(workers_by_run(room, {}, alike(3)) == Workers{{0, 3}, {1, 3}, {2, 2}});
        CHECK(workers_by_run(room, std::vector<Placed>(5), alike(2)) == Workers{{0, 2}, {1, 1}});
    }

    TEST_CASE("WorkersStayBelowWhatHasSomethingToDo") {
        std::vector<Waiting> runs = alike(2);
        runs[0].most_workers = 1;
        CHECK(workers_by_run({.cores = 8, .host_bytes = kPlenty}, {}, runs) == Workers{{0, 1}, {1, 7}});
    }

    TEST_CASE("ThreadsAreCoresToo") {
        std::vector<Waiting> runs = alike(3);
        for (Waiting& run : runs) run.threads = 4;
        const auto starts = pack({.cores = 9, .host_bytes = kPlenty}, {}, runs);
        REQUIRE(starts.size() == 2);
        CHECK(starts[0].workers == 1);
        CHECK(starts[0].cores == 4);
        CHECK(cores_of(0, 4) == 1);
        CHECK(cores_of(3, 2) == 6);
    }

    TEST_CASE("LongestFirstAndTiesByOrder") {
        std::vector<Waiting> runs = alike(4);
        runs[2].core_seconds = 30.0;
        runs[3].core_seconds = 20.0;
        CHECK(workers_by_run({.cores = 3, .host_bytes = kPlenty}, {}, runs) == Workers{{0, 1}, {2, 1}, {3, 1}});
    }

    TEST_CASE("RunWiderThanTheMachineRunsAlone") {
        std::vector<Waiting> runs = alike(3);
        runs[0].workers = 16;
        runs[0].core_seconds = 99.0;
        const Room room{.cores = 4, .host_bytes = kPlenty};
        CHECK(workers_by_run(room, {}, runs) == Workers{{0, 16}});
        CHECK(workers_by_run(room, {Placed{.cores = 16}}, alike(2)).empty());
        // Where another run is active already, shorter runs overtake it.
        CHECK(workers_by_run(room, {Placed{}}, runs) == Workers{{1, 2}, {2, 1}});
    }

    TEST_CASE("GivenWorkersAreKept") {
        std::vector<Waiting> runs = alike(2);
        runs[0].workers = 2;
        runs[1].workers = 0;
        CHECK(workers_by_run({.cores = 8, .host_bytes = kPlenty}, {}, runs) == Workers{{0, 2}, {1, 0}});
    }

    TEST_CASE("JobsAreAtMostThatManyWhateverTheCores") {
        std::vector<Waiting> runs = alike(5);
        CHECK(workers_by_run({.cores = 1, .jobs = 3, .host_bytes = kPlenty}, {}, runs) == Workers{{0, 1}, {1, 1}, {2, 1}});
        CHECK(workers_by_run({.cores = 1, .jobs = 3, .host_bytes = kPlenty}, std::vector<Placed>(3), runs).empty());
        CHECK(workers_by_run({.cores = 8, .jobs = 2, .host_bytes = kPlenty}, {}, runs) == Workers{{0, 4}, {1, 4}});
        CHECK(workers_by_run({.cores = 8, .jobs = 1, .host_bytes = kPlenty}, {}, alike(1)) == Workers{{0, 8}});
        for (Waiting& run : runs) run.workers = 5;
        CHECK(pack({.cores = 1, .jobs = 4, .host_bytes = kPlenty}, {}, runs).size() == 4);
    }

    TEST_CASE("MemoryThatRunsStillTakeIsNotFree") {
        const Room room{.cores = 8, .host_bytes = 250};
        std::vector<Waiting> runs = alike(8);
        CHECK(workers_by_run(room, {}, runs) == Workers{{0, 1}, {1, 1}});
        CHECK(workers_by_run(room, {Placed{.host_growth = 100}}, runs) == Workers{{0, 1}});
        CHECK(workers_by_run(room, {Placed{.host_growth = 151}}, runs).empty());
        runs[0].host_bytes = 10'000;  // lets the others overtake, and starts where nothing else runs
        CHECK(workers_by_run(room, {Placed{}}, runs) == Workers{{1, 1}, {2, 1}});
        CHECK(workers_by_run(room, {}, runs) == Workers{{0, 1}});
    }

    TEST_CASE("FewerWorkersWhereMemoryHoldsNoMore") {
        CHECK(scaled_bytes(100, 1, 3) == 200);
        CHECK(scaled_bytes(200, 3, 1) == 100);
        CHECK(workers_by_run({.cores = 8, .host_bytes = 210}, {Placed{.host_growth = 10}}, alike(1)) == Workers{{0, 3}});
    }

    TEST_CASE("DeviceHoldsOneRunUntilItsMemoryIsKnown") {
        std::vector<Waiting> runs = alike(4);
        for (Waiting& run : runs) run.on_device = true;
        runs[3].on_device = false;
        const Room room{.cores = 8, .host_bytes = kPlenty, .device_bytes = 1000};
        CHECK(workers_by_run(room, {}, runs) == Workers{{0, 2}, {3, 6}});
        const Placed unknown{.on_device = true, .measured = false};
        CHECK(workers_by_run(room, {unknown}, runs).size() == 1);
        for (Waiting& run : runs) run.device_bytes = 400;
        CHECK(workers_by_run(room, {unknown}, runs).size() == 1);
        const Placed known{.on_device = true};
        CHECK(workers_by_run(room, {known}, runs) == Workers{{0, 2}, {1, 2}, {3, 3}});
        CHECK(workers_by_run(room, {Placed{.on_device = true, .device_growth = 300}}, runs) == Workers{{0, 2}, {3, 5}});
        // Without a measurement, always one at a time.
        CHECK(workers_by_run({.cores = 8, .host_bytes = kPlenty}, {known}, runs).size() == 1);
    }

    TEST_CASE("RunsAreDealtToHosts") {
        const Site two{.room = {.cores = 2, .host_bytes = kPlenty}};
        const Site four{.room = {.cores = 4, .host_bytes = kPlenty}};
        // The host with more free cores takes its run first, and gets the remaining ones.
        CHECK(sites_by_run({two, four}, alike(1)) == Sites{{0, 1}});
        CHECK(sites_by_run({two, two}, alike(3)) == Sites{{0, 0}, {1, 1}, {2, 0}});
        CHECK(sites_by_run({two, four}, alike(9)) == Sites{{0, 1}, {1, 0}, {2, 1}, {3, 0}, {4, 1}, {6, 1}});
        Site busy = four;
        busy.placed.resize(3);
        CHECK(sites_by_run({busy, two}, alike(9)) == Sites{{0, 1}, {1, 0}, {2, 1}});
        // The last runs share the cores of both hosts.
        const std::vector<Start> starts = fedhive::sim::pack({two, four}, alike(2));
        REQUIRE(starts.size() == 2);
        CHECK(starts[0].workers == 4);
        CHECK(starts[1].workers == 2);
    }

    TEST_CASE("WhatDoesNotFitWhereItWasDealtGoesElsewhere") {
        Site small{.room = {.cores = 4, .host_bytes = 50}, .placed = {Placed{}}};
        const Site large{.room = {.cores = 2, .host_bytes = kPlenty}, .placed = {Placed{}}};
        CHECK(sites_by_run({small, large}, alike(1)) == Sites{{0, 1}});
        small.placed.clear();  // idle: the first run in order starts there
        CHECK(sites_by_run({small, large}, alike(3)) == Sites{{0, 0}, {1, 1}});
    }
}
