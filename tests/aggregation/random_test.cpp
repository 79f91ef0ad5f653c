#include "aggregation/base/random.h"

#include "tests/support/statistics.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

using namespace fedhive;
using testing::chi_square;
using testing::chi_square_bound;
using testing::distance_from_normal;
using testing::kolmogorov_bound;
using testing::kolmogorov_distance;

namespace {

using Block = std::array<std::uint32_t, 4>;

Block first_block(Stream stream) { return {stream(), stream(), stream(), stream()}; }

}  // namespace

TEST_SUITE("Random") {
    // kat_vectors of Random123: philox4x32 10.
    TEST_CASE("PhiloxPublishedVectorsAreMet") {
        constexpr std::uint32_t kOnes = 0xFFFFFFFFU;
        CHECK(Stream::philox({0, 0, 0, 0}, {0, 0}) == Block{0x6627E8D5U, 0xE169C58DU, 0xBC57AC4CU, 0x9B00DBD8U});
        CHECK(Stream::philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}) ==
              Block{0x408F276DU, 0x41C83B0EU, 0xA20BC7C6U, 0x6D5451FDU});
        CHECK(Stream::philox({0x243F6A88U, 0x85A308D3U, 0x13198A2EU, 0x03707344U}, {0xA4093822U, 0x299F31D0U}) ==
              Block{0xD16CFE09U, 0x94FDCCEBU, 0x5001E420U, 0x24126EA1U});
    }

    TEST_CASE("StreamAnyKeyChangedIsAnotherStream") {
        const Block base = first_block({1, Purpose::Shuffle, 2, 3});
        CHECK(first_block({1, Purpose::Shuffle, 2, 3}) == base);
        CHECK(first_block({2, Purpose::Shuffle, 2, 3}) != base);
        CHECK(first_block({1 + (std::uint64_t{1} << 32), Purpose::Shuffle, 2, 3}) != base);
        CHECK(first_block({1, Purpose::Dropout, 2, 3}) != base);
        CHECK(first_block({1, Purpose::Shuffle, 3, 3}) != base);
        CHECK(first_block({1, Purpose::Shuffle, 2, 4}) != base);
        CHECK(first_block({1, Purpose::Shuffle, 3, 2}) != base);
    }

    TEST_CASE("StreamBelowIsUniform") {
        Stream stream(42, Purpose::Sampling);
        std::vector<std::size_t> seen(7);
        for (int i = 0; i < 70000; ++i) ++seen.at(stream.below(7));
        CHECK(chi_square(seen) < chi_square_bound(7));
    }

    TEST_CASE("StreamBelowRejectsWhatWouldBias") {
        // 3/4 of the range: plain modulo would double the share of the lower third of the results.
        const std::uint64_t bound = (std::uint64_t{1} << 63) + (std::uint64_t{1} << 62);
        Stream stream(43, Purpose::Sampling);
        int low = 0;
        for (int i = 0; i < 3000; ++i) low += stream.below(bound) < bound / 3 ? 1 : 0;
        CHECK(low > 880);
        CHECK(low < 1120);
    }

    TEST_CASE("StreamUniformAndNormalAreDistributedSo") {
        constexpr std::size_t kDraws = 20000;
        Stream stream(44, Purpose::TrainData);
        std::vector<double> uniform(kDraws), normal(kDraws), flat(kDraws);
        for (std::size_t i = 0; i < kDraws; ++i) {
            uniform[i] = stream.uniform();
            REQUIRE(uniform[i] >= 0.0);
            REQUIRE(uniform[i] < 1.0);
            normal[i] = stream.normal();
            flat[i] = std::sqrt(3.0) * (2.0 * uniform[i] - 1.0);  // mean 0 and variance 1, too
        }
        const auto uniform_cdf = [](double u) { return std::clamp(u, 0.0, 1.0); };
        CHECK(kolmogorov_distance(uniform, uniform_cdf) < kolmogorov_bound(kDraws));
        CHECK(distance_from_normal(normal, 0.0, 1.0) < kolmogorov_bound(kDraws));
        CHECK(distance_from_normal(flat, 0.0, 1.0) > 3.0 * kolmogorov_bound(kDraws));
    }

    TEST_CASE("ShuffleOfFourGivesEveryOrderEquallyOften") {
        Stream stream(46, Purpose::Shuffle);
        std::map<std::vector<int>, std::size_t> orders;
        for (int i = 0; i < 24000; ++i) {
            std::vector<int> values{0, 1, 2, 3};
            shuffle(std::span<int>(values), stream);
            ++orders[values];
        }
        std::vector<std::size_t> seen;
        for (const auto& [order, times] : orders) seen.push_back(times);
        REQUIRE(seen.size() == 24);
        CHECK(chi_square(seen) < chi_square_bound(24));
    }

    TEST_CASE("ShuffleKeepsTheValuesAndRepeatsItself") {
        std::vector<int> values(100);
        std::iota(values.begin(), values.end(), 0);
        const std::vector<int> sorted = values;
        Stream stream(45, Purpose::Shuffle);
        shuffle(std::span<int>(values), stream);
        CHECK(values != sorted);
        std::vector<int> again = sorted;
        Stream same(45, Purpose::Shuffle);
        shuffle(std::span<int>(again), same);
        CHECK(values == again);
        std::sort(values.begin(), values.end());
        CHECK(values == sorted);
    }
}
