// Processors that workers may use, read from the kernel while they train.
#include "tests/process/run_process.h"

#include <doctest/doctest.h>

#include <sched.h>

#include <set>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

std::set<std::size_t> processors_of(pid_t pid) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    REQUIRE(sched_getaffinity(pid, sizeof allowed, &allowed) == 0);
    std::set<std::size_t> processors;
    for (std::size_t processor = 0; processor < CPU_SETSIZE; ++processor)
        if (CPU_ISSET(processor, &allowed)) processors.insert(processor);
    return processors;
}

/// The processors of each worker of a run with `workers` of them, after its first round.
std::vector<std::set<std::size_t>> processors_of_workers(std::size_t workers) {
    FedhiveRun run(small_config(), set({fmt::format("workers={}", workers), "rounds=1000000"}));
    REQUIRE_MESSAGE(eventually(60.0, [&] { return run.rounds() >= 1; }), run.output());
    std::vector<std::set<std::size_t>> all;
    for (const pid_t worker : run.workers()) all.push_back(processors_of(worker));
    kill(run.pid(), SIGTERM);
    run.end();
    CHECK(all.size() == workers);
    return all;
}

}  // namespace

TEST_SUITE("Processors") {
    TEST_CASE("AsManyWorkersAsProcessorsHaveOneEach") {
        const std::set<std::size_t> usable = processors_of(0);
        if (usable.size() < 2 || usable.size() > 16) {
            MESSAGE("skipped: it takes 2 to 16 processors, and " << usable.size() << " are usable");
            return;
        }
        std::set<std::size_t> taken;
        for (const auto& own : processors_of_workers(usable.size())) {
            CHECK(own.size() == 1);
            taken.insert(own.begin(), own.end());
        }
        CHECK(taken == usable);
        for (const auto& any : processors_of_workers(usable.size() + 1)) CHECK(any == usable);
    }
}
