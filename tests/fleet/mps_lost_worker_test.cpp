// Loss of a server that several workers share (MPS), and of the device of a coordinator that trains by itself.
#include "sim/fleet/fleet.h"
#include "tests/fleet/toy_fleet.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <numeric>
#include <set>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

constexpr const char* kServer = "TOY_SERVER";  // environment variable with the name of the clients' server

FaultConfig fault_of(const std::string& kind, std::int64_t client) {
    FaultConfig fault;
    fault.kind = kind;
    fault.client = client;
    return fault;
}

std::set<pid_t> processes() {
    std::ifstream list(fmt::format("/proc/self/task/{}/children", getpid()));
    return {std::istream_iterator<pid_t>(list), {}};
}

std::string server_of(pid_t process) {
    std::ifstream file(fmt::format("/proc/{}/environ", process));
    for (std::string entry; std::getline(file, entry, '\0');)
        if (entry.rfind(std::string(kServer) + "=", 0) == 0) return entry.substr(std::string(kServer).size() + 1);
    return "none";
}

/// 12 clients of ten examples, three steps of 1 each. Servers are numbered; when one starts, no client
/// of the last may be alive.
struct ServedRun : testing::ToyFleet {
    explicit ServedRun(std::uint32_t workers, std::uint64_t clients_per_slot, std::vector<FaultConfig> faults)
        : ToyFleet({64, 12}) {
        FleetOptions options;
        options.workers = workers;
        options.slots = SlotPlan::even(clients_per_slot);
        options.mode.in_flight = options.mode.quorum = 12;
        options.test_chunk = 10;
        options.failures.policy = OnFailure::Retry;
        const bool hangs = std::ranges::any_of(faults, [](const FaultConfig& one) { return one.kind == "hang"; });
        options.failures.deadline_s = hangs ? 2.0 : 60.0;
        options.faults = FaultSchedule(std::move(faults), 1);
        options.worker_environment = {{kServer, "0"}};
        options.renew_mps = [this] {
            left_alive += processes().size();
            return std::vector<std::pair<std::string, std::string>>{{kServer, std::to_string(++servers)}};
        };
        start(options);
    }

    Arrivals round() {
        Cohort cohort(12);
        std::iota(cohort.begin(), cohort.end(), 0U);
        fleet->pull_down(cohort, server, strategy);
        fleet->train();
        Arrivals arrived = fleet->barrier(server);
        fleet->release(arrived, server);
        return arrived;
    }

    int servers = 0;
    std::size_t left_alive = 0;
};

}  // namespace

TEST_SUITE("MpsLostWorker") {
    TEST_CASE("DeathOfOneWorkerBeginsAllAnewUnderANewServer") {
        const std::vector<std::pair<std::string, std::uint64_t>> cases{{"kill", 1}, {"hang", 4}};
        for (const auto& [kind, per_slot] : cases) {
            CAPTURE(kind);
            CAPTURE(per_slot);
            ServedRun run(3, per_slot, {fault_of(kind, 6)});
            const std::set<pid_t> before = processes();
            REQUIRE(before.size() == 3);
            const Arrivals arrived = run.round();
            CHECK(arrived.accepted() == 12);
            REQUIRE(arrived.updates.size() == 12 / per_slot);
            for (const auto& update : arrived.updates) CHECK(update.values.data[7] == 3.0F * static_cast<float>(per_slot));
            CHECK(run.servers == 1);
            CHECK(run.left_alive == 0);
            const std::set<pid_t> after = processes();
            REQUIRE(after.size() == 3);
            for (const pid_t process : after) {
                CHECK_FALSE(before.contains(process));
                CHECK(server_of(process) == "1");
            }
            CHECK(run.fleet->failure_counts().failures == 1);  // the other workers are not counted as failures
            CHECK(run.fleet->evaluate(run.server).size() == 3);
        }
    }

    TEST_CASE("WorkersLeftAwayForMemoryTakeTheServerAlong") {
        ServedRun run(4, 1, {fault_of("oom", 3)});
        CHECK(run.round().accepted() == 12);
        CHECK(run.servers >= 1);
        CHECK(run.left_alive == 0);
        CHECK(processes().size() == 2);
    }

    TEST_CASE("CoordinatorThatLosesItsDeviceEndsTheRun") {
        ServedRun run(0, 1, {});
        setenv("TOY_FAULT", "device", 1);
        setenv("TOY_CLIENT", "5", 1);
        CHECK_THROWS_WITH_AS(run.round(), doctest::Contains("the toy lost its device"), RunAborted);
        unsetenv("TOY_FAULT");
        unsetenv("TOY_CLIENT");
    }

    TEST_CASE("ProcessWithAContextHasMoreTimeToEnd") {
        const WorkerPatience host = worker_patience(aggregation::MemorySpace::Host);
        const WorkerPatience device = worker_patience(aggregation::MemorySpace::Cuda);
        CHECK(host.leave_s == 1.0);
        CHECK(host.die_s == 5.0);
        CHECK(device.leave_s == 5.0);
        CHECK(device.die_s == 15.0);
    }
}
