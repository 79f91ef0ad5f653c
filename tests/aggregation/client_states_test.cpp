#include "aggregation/memory/client_states.h"

#include "aggregation/base/error.h"
#include "tests/aggregation/spans.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

using namespace fedhive;
using namespace fedhive::aggregation;

namespace {

/// Bytes of memory that are there.
std::uint64_t allocated(const ClientStates& states) {
    struct stat status {};
    REQUIRE(fstat(states.descriptor(), &status) == 0);
    return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

std::vector<float> values_of(const ClientStates& states, std::uint64_t client) {
    const auto found = states.of(client).host();
    return {found.begin(), found.end()};
}

}  // namespace

TEST_SUITE("ClientStates") {
    TEST_CASE("WhatIsAddedIsKeptAndReadByWhoeverOpensIt") {
        ClientStates states = ClientStates::create(5, 1000);
        const ClientStates reader = ClientStates::open(states.descriptor(), 5, 1000);
        CHECK(states.keepers().empty());
        CHECK(reader.of(3).size == 0);
        const std::vector<float> one = testing::random_floats(1000, 1), other = testing::random_floats(1000, 2);
        states.add(3, one);
        CHECK(values_of(reader, 3) == one);
        states.add(3, other);
        std::vector<float> sum(1000);
        for (std::size_t i = 0; i < 1000; ++i) sum[i] = one[i] + other[i];
        CHECK(values_of(reader, 3) == sum);
        states.set(0, other);
        states.set(3, one);
        CHECK(values_of(reader, 0) == other);
        CHECK(values_of(reader, 3) == one);
        CHECK(reader.keepers() == std::vector<std::uint64_t>{0, 3});
        CHECK(reader.of(4).size == 0);
        CHECK_THROWS_AS(states.of(5), Fault);
        CHECK_THROWS_AS(states.add(1, std::vector<float>(999)), Fault);
    }

    TEST_CASE("MemoryGrowsWithTheClientsThatKeepSomething") {
        constexpr std::uint64_t kFloats = 100'000;
        ClientStates states = ClientStates::create(10'000, kFloats);  // 4 GB, were they all there
        const std::uint64_t before = allocated(states);
        CHECK(before <= 4 * 4096);
        const std::vector<float> change(kFloats, 1.0F);
        for (const std::uint64_t client : {7U, 9'999U}) {
            CHECK(states.of(client).size == 0);
            states.add(client, change);
        }
        CHECK(allocated(states) - before == 2 * ClientStates::bytes_each(kFloats));
        CHECK(ClientStates::bytes_each(kFloats) < kFloats * sizeof(float) + 4096);
        const ClientStates reader = ClientStates::open(states.descriptor(), 10'000, kFloats);
        for (std::uint64_t client = 0; client < 10'000; ++client)
            if (client != 7) REQUIRE((reader.of(client).size > 0) == (client == 9'999));
        CHECK(allocated(states) - before == 2 * ClientStates::bytes_each(kFloats));
    }

    TEST_CASE("NobodyKeepsAnythingInNone") {
        const ClientStates none;
        CHECK(none.descriptor() == -1);
        CHECK(none.clients() == 0);
        CHECK(none.keepers().empty());
    }
}
