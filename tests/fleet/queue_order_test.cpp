// Order in which one worker takes the tasks of a round, for clients of unequal size.
#include "sim/fleet/fleet.h"
#include "tests/fleet/toy_fleet.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

constexpr std::array<double, 6> kFractions{0.1, 0.3, 0.05, 0.25, 0.1, 0.2};

struct UnequalRun : testing::ToyFleet {
    explicit UnequalRun(std::size_t quorum, std::uint64_t clients_per_slot = 1, bool virtual_clock = false)
        : ToyFleet({.num_floats = 64, .num_slots = 6}, "", "",
                   clients::SharedDataset::create(clients::draw_synthetic({200, 25, 3, 4, 1.0}, 1),
                                                  clients::partition_iid(200, 6, kFractions, 1))) {
        FleetOptions options;
        options.workers = 1;
        options.slots = SlotPlan::even(clients_per_slot);
        options.mode.in_flight = 6;
        options.mode.quorum = quorum;
        if (virtual_clock)
            options.round_trip_s = [](std::uint32_t client, std::uint64_t, const Traffic&) { return 1.0 + client; };
        start(options);
    }

    /// The clients in the order in which they began training.
    std::vector<std::uint32_t> order() {
        fleet->pull_down({0, 1, 2, 3, 4, 5}, server, strategy);
        fleet->train();
        Arrivals arrived = fleet->barrier(server);
        std::erase_if(arrived.clients, [](const ClientReport& client) { return client.failure.has_value(); });
        std::vector<ClientReport> reports = arrived.clients;
        for (std::size_t i = 0; i < reports.size(); ++i) CHECK((i == 0 || reports[i - 1].client_id < reports[i].client_id));
        for (const ClientReport& report : reports)
            CHECK(report.slot == report.client_id / clients_of_slot(reports.size(), arrived));
        std::sort(reports.begin(), reports.end(),
                  [](const ClientReport& a, const ClientReport& b) { return a.result.start_ns < b.result.start_ns; });
        std::vector<std::uint32_t> clients;
        for (const ClientReport& report : reports) clients.push_back(report.client_id);
        return clients;
    }

    static std::uint32_t clients_of_slot(std::size_t clients, const Arrivals& arrived) {
        return static_cast<std::uint32_t>(clients / arrived.updates.size());
    }
};

}  // namespace

TEST_SUITE("QueueOrder") {
    TEST_CASE("LargestClientsBeginWhereAllAreAwaitedAndKeepTheirSlots") {
        CHECK(UnequalRun(6).order() == std::vector<std::uint32_t>{1, 3, 5, 0, 4, 2});
    }

    TEST_CASE("SlotsBeginByTheExamplesOfAllTheirClients") {
        CHECK(UnequalRun(6, 2).order() == std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5});  // 80, 60 and 60
    }

    TEST_CASE("LargestOfThoseWhoArriveBeginWhereTheVirtualClockLeavesOthersBehind") {
        CHECK(UnequalRun(4, 1, true).order() == std::vector<std::uint32_t>{1, 3, 0, 2});
    }

    TEST_CASE("OrderOfTheWallClocksRaceIsThatOfTheIds") {
        CHECK(UnequalRun(4).order() == std::vector<std::uint32_t>{0, 1, 2, 3});
    }
}
