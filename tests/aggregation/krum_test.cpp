#include "tests/aggregation/combine.h"
#include "tests/support/skip.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace fedhive;
using namespace fedhive::aggregation;
using testing::Floats;

namespace {

testing::CombinedRule krum(std::optional<std::int64_t> byzantine, std::int64_t chosen = 1) {
    return {"krum", {{"byzantine", byzantine}, {"chosen", chosen}}};
}

/// The paper's definition in double: index of the update with the smallest score.
std::size_t reference_choice(const std::vector<Floats>& updates, std::size_t byzantine) {
    std::vector<double> scores;
    for (const Floats& one : updates) {
        std::vector<double> distances;
        for (const Floats& other : updates) {
            double sum = 0.0;
            for (std::size_t i = 0; i < one.size(); ++i)
                sum += (static_cast<double>(one[i]) - other[i]) * (static_cast<double>(one[i]) - other[i]);
            distances.push_back(sum);
        }
        std::sort(distances.begin(), distances.end());  // the first is the distance to itself, 0
        double score = 0.0;
        for (std::size_t k = 1; k <= updates.size() - byzantine - 2; ++k) score += distances[k];
        scores.push_back(score);
    }
    return static_cast<std::size_t>(std::min_element(scores.begin(), scores.end()) - scores.begin());
}

/// `honest` updates around one point and `wrong` far from it and from each other, in a shuffled order.
std::vector<Floats> attacked(std::size_t honest, std::size_t wrong, std::size_t num_floats, std::uint32_t seed) {
    Stream stream(seed, Purpose::TestData);
    const Floats centre = testing::random_floats(num_floats, 1000);
    std::vector<Floats> updates(honest + wrong, Floats(num_floats));
    for (std::size_t k = 0; k < updates.size(); ++k)
        for (std::size_t i = 0; i < num_floats; ++i)
            updates[k][i] = centre[i] + static_cast<float>((k < honest ? 0.1 : 10.0) * stream.normal());
    shuffle(std::span<Floats>(updates), stream);
    return updates;
}

void chooses_as_the_paper(MemorySpace space) {
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
        const std::size_t byzantine = seed % 4, honest = byzantine + 3 + seed % 3;
        const std::vector<Floats> updates = attacked(honest, byzantine, 257 + seed, seed);
        CHECK(krum(static_cast<std::int64_t>(byzantine))(updates, space) == updates[reference_choice(updates, byzantine)]);
    }
}

}  // namespace

TEST_SUITE("Krum") {
    TEST_CASE("KrumChoosesAsThePaper") { chooses_as_the_paper(MemorySpace::Host); }

    TEST_CASE("Gpu: KrumChoosesAsThePaper") {
        if (const std::string reason = testing::no_gpu_reason(); !reason.empty()) FEDHIVE_SKIP(reason);
        chooses_as_the_paper(MemorySpace::Cuda);
    }

    TEST_CASE("SeveralChosenAreTheirMeanWithoutTheWrongOnes") {
        const std::vector<Floats> updates{{4.0F, 8.0F},  {1e6F, 1e6F}, {5.0F, 8.0F}, {4.0F, 9.0F},
                                          {-1e6F, 0.0F}, {6.0F, 8.0F}, {5.0F, 7.0F}};
        CHECK(krum(2, 1)(updates) == updates[2]);
        // Means of the five others: (4 + 5 + 4 + 6 + 5) / 5, (8 + 8 + 9 + 8 + 7) / 5.
        const Floats mean = krum(2, 5)(updates);
        CHECK(mean[0] == doctest::Approx(4.8));
        CHECK(mean[1] == doctest::Approx(8.0));
    }

    TEST_CASE("LeftOutAsManyMayBeWrongAsARoundBears") {
        for (const std::size_t count : {3U, 4U, 8U, 9U}) {
            const std::vector<Floats> updates =
                attacked(count - (count - 3) / 2, (count - 3) / 2, 33, static_cast<std::uint32_t>(count));
            CHECK(krum({})(updates) == updates[reference_choice(updates, (count - 3) / 2)]);
        }
    }

    TEST_CASE("OfTwoAlikeTheEarlierIsChosen") { CHECK(krum(0)({{4.0F}, {2.0F}, {3.0F}, {1.0F}}) == Floats{2.0F}); }

    TEST_CASE("ItNeedsMoreThanTwiceTheWrongOnes") {
        CHECK(krum(0).least_updates() == 3);
        CHECK(krum(3).least_updates() == 9);
        CHECK(krum(3, 8).least_updates() == 11);
        CHECK(krum({}).least_updates() == 3);
        CHECK(krum({}, 8).least_updates() == 8);
    }
}
