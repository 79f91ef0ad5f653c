#include "aggregation/base/normals.h"

#include "aggregation/base/parallel.h"

#include <doctest/doctest.h>

#include <atomic>
#include <bit>
#include <vector>

using namespace fedhive;

TEST_SUITE("Normals") {
    TEST_CASE("ManyAtATimeAreThoseDrawnOneByOne") {
        for (const std::size_t size : {0U, 1U, 3U, 400U, 511U, 784U, 5000U}) {
            const Stream stream(46, Purpose::TrainData, 1, 7);
            std::vector<double> many(size);
            fill_normals(stream, many);
            Stream one(stream);
            std::size_t different = 0;
            for (const double value : many)
                different += std::bit_cast<std::uint64_t>(value) != std::bit_cast<std::uint64_t>(one.normal());
            CHECK(different == 0);
        }
    }

    TEST_CASE("RangesCoverEachPlaceOnce") {
        for (const std::size_t count : {0U, 1U, 9U, 10U, 1000U, 1001U}) {
            std::vector<std::atomic<int>> visits(count);
            for_each_range(count, 10, [&](std::size_t first, std::size_t last) {
                for (std::size_t i = first; i < last; ++i) ++visits[i];
            });
            std::size_t wrong = 0;
            for (const std::atomic<int>& times : visits) wrong += times != 1;
            CHECK(wrong == 0);
        }
    }
}
