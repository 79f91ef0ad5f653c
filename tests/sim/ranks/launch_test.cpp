#include "sim/ranks/launch.h"

#include <doctest/doctest.h>

using namespace fedhive::sim;

namespace {

using Names = std::vector<std::string>;

/// The devices that each of `ranks` ranks on a host gets.
Names shared(const Names& devices, std::uint32_t ranks) {
    Names each;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) each.push_back(device_for(devices, rank, ranks));
    return each;
}

}  // namespace

TEST_SUITE("Launch") {
    TEST_CASE("RanksOfAHostTakeItsGpusInTurnAndThenBeginAgain") {
        CHECK(shared({"GPU-a", "GPU-b"}, 2) == Names{"GPU-a", "GPU-b"});
        CHECK(shared({"3", "1"}, 4) == Names{"3", "1", "3", "1"});
        CHECK(shared({"0", "1", "2", "3"}, 2) == Names{"0", "1"});
    }

    TEST_CASE("OneThatSharesWithNobodyAndOneGpuForAllChangeNothing") {
        CHECK(shared({"0", "1"}, 1) == Names{""});
        CHECK(shared({"0"}, 3) == Names{"", "", ""});
        CHECK(shared({}, 2) == Names{"", ""});
    }
}
