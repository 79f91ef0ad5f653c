#include "clients/data/formats/glyphs.h"

#include "tests/conformance/dataset_conformance.h"

#include <doctest/doctest.h>

#include <array>
#include <set>
#include <string>

namespace fedhive::clients {

namespace {

double mean_of(std::span<const std::uint8_t> values) {
    double sum = 0;
    for (const std::uint8_t value : values) sum += value;
    return sum / static_cast<double>(values.size());
}

}  // namespace

TEST_SUITE("Glyphs") {
    TEST_CASE("ConformsAsADataset") {
        conformance::check_seeded([](std::uint64_t seed) { return draw_glyphs(200, 50, seed); });
    }

    TEST_CASE("PartsHaveTheAskedSizeAndBalancedClasses") {
        const Dataset data = draw_glyphs(203, 50, 7);
        CHECK(data.num_classes == 10);
        CHECK(data.train.shape == ExampleShape{1, 28, 28});
        CHECK(data.train.size() == 203);
        std::array<int, 10> train{}, test{};
        for (const std::int32_t label : data.train.labels) ++train.at(static_cast<std::size_t>(label));
        for (const std::int32_t label : data.test.labels) ++test.at(static_cast<std::size_t>(label));
        CHECK(train == std::array{21, 21, 21, 20, 20, 20, 20, 20, 20, 20});
        CHECK(test == std::array{5, 5, 5, 5, 5, 5, 5, 5, 5, 5});
    }

    TEST_CASE("EveryImageIsDarkWithBrightStrokes") {
        const Dataset data = draw_glyphs(500, 1, 3);
        for (std::size_t i = 0; i < data.train.size(); ++i) {
            const auto image = std::span(data.train.values).subspan(i * 784, 784);
            CHECK(mean_of(image) > 5);
            CHECK(mean_of(image) < 100);
            CHECK(*std::max_element(image.begin(), image.end()) > 90);
        }
    }

    TEST_CASE("NoTwoImagesAreEqual") {
        const Dataset data = draw_glyphs(300, 300, 3);
        std::set<std::string> images;
        for (const Examples* part : {&data.train, &data.test})
            for (std::size_t i = 0; i < part->size(); ++i)
                images.emplace(reinterpret_cast<const char*>(part->values.data()) + i * 784, 784);
        CHECK(images.size() == 600);
    }

    TEST_CASE("PixelsOfSeedOneAreTheKnownOnes") {
        // A change of this number changes every result on glyphs; it belongs into the change log.
        CHECK(draw_glyphs(1000, 100, 1).fingerprint() == 3737908555412066539U);
    }
}

}  // namespace fedhive::clients
