#include "aggregation/base/error.h"
#include "clients/data/partition.h"
#include "tests/support/golden_messages.h"

#include <doctest/doctest.h>

namespace fedhive::clients {

namespace {

/// Five examples of owner 0, one of owner 1, three of owner 2.
const std::vector<std::uint32_t> kOwners{2, 0, 0, 1, 2, 0, 0, 2, 0};

Partition natural_deal(std::size_t clients, std::int64_t min_examples = 1, std::span<const std::uint32_t> owners = kOwners) {
    const std::vector<std::int32_t> labels(kOwners.size());
    return partition_scheme("natural").deal({labels, 1, clients, 1, owners}, {{"min_examples", min_examples}});
}

void expect_no_deal(std::size_t clients, std::int64_t min_examples, const std::string& text) {
    CHECK_THROWS_WITH_AS(natural_deal(clients, min_examples), doctest::Contains(text.c_str()), ConfigError);
}

}  // namespace

TEST_SUITE("PartitionNatural") {
    TEST_CASE("EveryOwnerIsAClientWithItsExamplesInTheirOrder") {
        const Partition partition = natural_deal(3);
        CHECK(partition.indices == std::vector<std::uint32_t>{1, 2, 5, 6, 8, 3, 0, 4, 7});
        CHECK(partition.offsets == std::vector<std::uint64_t>{0, 5, 6, 9});
    }

    TEST_CASE("OwnersBelowTheMinimumAreLeftOutWithTheirExamples") {
        const Partition partition = natural_deal(2, 2);
        CHECK(partition.indices == std::vector<std::uint32_t>{1, 2, 5, 6, 8, 0, 4, 7});
        CHECK(partition.offsets == std::vector<std::uint64_t>{0, 5, 8});
    }

    TEST_CASE("ClientsThatAreNotTheOwnersAreRefused") {
        expect_no_deal(10, 1, "clients is 10, but the data have 3 owners; write clients: 3, or remove clients");
        expect_no_deal(3, 2,
                       "clients is 3, but the data have 3 owners, 2 of them with at least 2 examples; write clients: 2, or "
                       "remove clients");
        expect_no_deal(3, 6, "none of the 3 owners has 6 examples");
    }

    TEST_CASE("AsManyClientsAsOwnersWhereNoNumberIsGiven") {
        CHECK(natural_deal(0).fingerprint() == natural_deal(3).fingerprint());
        CHECK(natural_deal(0, 2).fingerprint() == natural_deal(2, 2).fingerprint());
        expect_no_deal(0, 6, "none of the 3 owners has 6 examples");
    }

    TEST_CASE("DataWithoutOwnersAreRefused") { CHECK_THROWN_MESSAGE("data", "", ConfigError, natural_deal(3, 1, {})); }
}

}  // namespace fedhive::clients
