#include "aggregation/base/random.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <vector>

using namespace fedhive;

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
        constexpr std::size_t kBound = 7;
        constexpr double kDraws = 70000.0;
        Stream stream(42, Purpose::Sampling);
        std::array<double, kBound> counts{};
        for (int i = 0; i < static_cast<int>(kDraws); ++i) counts.at(stream.below(kBound)) += 1.0;
        double chi_square = 0.0;
        for (const double count : counts)
            chi_square += (count - kDraws / kBound) * (count - kDraws / kBound) / (kDraws / kBound);
        CHECK(chi_square < 22.5);  // 6 degrees of freedom: exceeded once in a thousand seeds
    }

    TEST_CASE("StreamBelowRejectsWhatWouldBias") {
        // 3/4 of the range: plain modulo would give the lower third of the results twice the share.
        const std::uint64_t bound = (std::uint64_t{1} << 63) + (std::uint64_t{1} << 62);
        Stream stream(43, Purpose::Sampling);
        int low = 0;
        for (int i = 0; i < 3000; ++i) low += stream.below(bound) < bound / 3 ? 1 : 0;
        CHECK(low > 880);
        CHECK(low < 1120);
    }

    TEST_CASE("StreamUniformAndNormalHaveTheirMoments") {
        Stream stream(44, Purpose::TrainData);
        double uniform = 0.0;
        double normal = 0.0;
        double squares = 0.0;
        for (int i = 0; i < 20000; ++i) {
            const double u = stream.uniform();
            REQUIRE(u >= 0.0);
            REQUIRE(u < 1.0);
            const double z = stream.normal();
            uniform += u / 20000.0;
            normal += z / 20000.0;
            squares += z * z / 20000.0;
        }
        CHECK(uniform == doctest::Approx(0.5).epsilon(0.02));
        CHECK(std::abs(normal) < 0.03);
        CHECK(squares == doctest::Approx(1.0).epsilon(0.04));
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
