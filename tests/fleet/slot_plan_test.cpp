// Assignment of a cohort's clients to slots.
#include "sim/round/slot_plan.h"
#include "sim/config/load_config.h"

#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <bit>
#include <fstream>
#include <vector>

using namespace fedhive;
using namespace fedhive::sim;
using aggregation::MemorySpace;

namespace {

std::vector<std::uint64_t> lengths(const SlotPlan& plan, std::uint64_t clients) {
    std::vector<std::uint64_t> all;
    for (std::uint64_t left = clients; left > 0; left -= all.back()) all.push_back(plan.clients_of_next(left));
    return all;
}

constexpr std::uint64_t kLarge = 1 << 20;  // floats, 4 MiB
constexpr std::uint64_t kSmall = 1 << 14;

/// The plan for a cohort of 20.
SlotPlan planned(const std::vector<std::string>& overrides, std::uint64_t num_floats = kLarge,
                 MemorySpace space = MemorySpace::Host, bool in_blocks = false) {
    static const testing::TemporaryFolder folder;
    const auto file = folder.path() / "slots.yaml";
    std::ofstream(file) << "data: {format: glyphs, num_train: 400, num_test: 20, partition: {scheme: iid, clients: 40}}\n"
                           "model: {name: lr}\ntraining: {cohort: 20}\n";
    return plan_slots(load_config(file, overrides).run, space, num_floats, 2, in_blocks);
}

}  // namespace

TEST_SUITE("SlotPlan") {
    TEST_CASE("LongSlotsComeFirstAndSingleClientsLast") {
        const SlotPlan plan{1, 16, 2};
        CHECK(lengths(plan, 50) == std::vector<std::uint64_t>{8, 8, 8, 4, 4, 4, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1});
        CHECK(lengths(plan, 3) == std::vector<std::uint64_t>{1, 1, 1});
        CHECK(lengths(plan, 1000).front() == 16);
        CHECK(lengths({4, 16, 2}, 50) == std::vector<std::uint64_t>{8, 8, 8, 4, 4, 4, 4, 4, 4, 2});
        CHECK(lengths(SlotPlan::even(8), 20) == std::vector<std::uint64_t>{8, 8, 4});
        CHECK(lengths({}, 3) == std::vector<std::uint64_t>{1, 1, 1});
        // If a launch takes the same time for one client as for many: few slots, and short ones only for the rest.
        CHECK(lengths({1, 64, 1, 1}, 100) == std::vector<std::uint64_t>{64, 32, 4});
        CHECK(lengths({1, 64, 2, 1}, 20) == std::vector<std::uint64_t>{8, 4, 4, 2, 1, 1});
    }

    /// Therefore each slot is a subtree of the sum over all.
    TEST_CASE("EverySlotIsAnAlignedPowerOfTwo") {
        for (const SlotPlan& plan :
             {SlotPlan{1, 16, 1}, SlotPlan{1, 16, 3}, SlotPlan{2, 8, 2}, SlotPlan::even(4), SlotPlan{1, 64, 3, 1}})
            for (std::uint64_t clients = 1; clients <= 200; ++clients) {
                std::uint64_t first = 0;
                for (const std::uint64_t length : lengths(plan, clients)) {
                    const bool is_last = first + length == clients;
                    CHECK(first % std::bit_ceil(length) == 0);
                    CHECK((std::has_single_bit(length) || is_last));
                    first += length;
                }
                CHECK(first == clients);
            }
    }

    TEST_CASE("SlotsAreEnoughForAnySmallerCohort") {
        for (const SlotPlan& plan :
             {SlotPlan{1, 16, 2}, SlotPlan{1, 16, 5}, SlotPlan::even(1), SlotPlan::even(8), SlotPlan{1, 64, 3, 1}})
            for (std::uint64_t most = 0; most <= 120; ++most)
                for (std::uint64_t clients = 0; clients <= most; ++clients)
                    CHECK(lengths(plan, clients).size() <= plan.num_slots(most));
        CHECK(SlotPlan::even(8).num_slots(20) == 3);
        CHECK(SlotPlan{1, 16, 2}.num_slots(1000) < 80);
        CHECK(SlotPlan{1, 16, 2}.largest(1000) == 16);
        CHECK(SlotPlan{1, 16, 2}.largest(50) == 8);
        CHECK(SlotPlan{1, 16, 2}.largest(3) == 1);
        CHECK(SlotPlan::even(4).largest(3) == 3);
    }

    TEST_CASE("AutoSharesWhereTheCohortIsLarge") {
        CHECK_FALSE(planned({"training.cohort=31"}, kSmall).shared());
        CHECK(planned({"training.cohort=32"}, kSmall).most == 16);
        CHECK(planned({"training.cohort=32"}, kSmall).least == 1);
        CHECK(planned({"training.cohort=32"}, kSmall).workers == 2);
        CHECK_FALSE(planned({"training.cohort=32"}, kSmall, MemorySpace::Cuda).shared());
        CHECK_FALSE(planned({"training.cohort=32", "strategy.name=median"}, kSmall).shared());
        CHECK_FALSE(planned({"training.cohort=32", "training.clients_per_slot=1"}, kSmall).shared());
    }

    TEST_CASE("AutoSharesWhereUpdatesWouldNotStayInTheCaches") {
        CHECK(planned({}).most == 16);
        CHECK(planned({}).least == 1);
        CHECK(planned({}).workers == 2);
        CHECK_FALSE(planned({}, kSmall).shared());
        CHECK_FALSE(planned({}, kLarge, MemorySpace::Cuda).shared());
        CHECK(planned({}, kSmall, MemorySpace::Cuda, true).most == 64);
        CHECK(planned({}, kSmall, MemorySpace::Cuda, true).workers == 2);
        CHECK(planned({}, kSmall, MemorySpace::Cuda, true).parts == 1);
        CHECK_FALSE(planned({"strategy.name=median"}, kSmall, MemorySpace::Cuda, true).shared());
        CHECK_FALSE(planned({"strategy.name=median"}).shared());
        CHECK_FALSE(planned({"mode.quorum=19"}).shared());
        CHECK(planned({"mode.quorum=20"}).shared());
        CHECK_FALSE(planned({"mode={name: semi_async, quorum: 3}"}).shared());
        CHECK_FALSE(planned({"mode={name: async}"}).shared());
        CHECK_FALSE(planned({"training.clients_per_slot=1"}).shared());
        CHECK(planned({"training.clients_per_slot=4"}, kSmall).most == 4);
        CHECK(planned({"training.clients_at_once=4"}, kSmall).most == 4);
        CHECK(planned({"training.clients_at_once=4"}).least == 4);
        CHECK(planned({"training.clients_at_once=4"}).most == 16);
    }
}
