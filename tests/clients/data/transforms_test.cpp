// Transforms: their distribution, and their effect on images on host and device.
#include "clients/data/transforms.h"

#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "clients/data/batches.h"
#include "tests/support/golden_messages.h"
#include "tests/support/statistics.h"

#include <doctest/doctest.h>

#include <cstring>
#include <numeric>

using namespace fedhive;
using namespace fedhive::clients;
using fedhive::testing::chi_square;
using fedhive::testing::chi_square_bound;

namespace {

std::vector<std::uint32_t> transforms_of(const Augmentation& augmentation, const TransformKey& key, std::size_t examples) {
    std::vector<std::uint32_t> numbers(examples), transforms;
    std::iota(numbers.begin(), numbers.end(), 0U);
    append_transforms(augmentation, key, numbers, transforms);
    return transforms;
}

/// Counts of each shift down, each shift right and each orientation.
struct Seen {
    explicit Seen(const Augmentation& augmentation, const std::vector<std::uint32_t>& transforms)
        : down(2 * augmentation.padding + 1), right(down.size()), place(down.size() * down.size() * 2), mirrored(2) {
        const auto padding = static_cast<std::int32_t>(augmentation.padding);
        for (const std::uint32_t packed : transforms) {
            const element::Transform transform = element::Transform::of(packed);
            REQUIRE(std::abs(transform.down) <= padding);
            REQUIRE(std::abs(transform.right) <= padding);
            const auto d = static_cast<std::size_t>(transform.down + padding),
                       r = static_cast<std::size_t>(transform.right + padding);
            ++down[d];
            ++right[r];
            ++mirrored[transform.mirrored ? 1 : 0];
            ++place[(d * right.size() + r) * 2 + (transform.mirrored ? 1 : 0)];
        }
    }
    std::vector<std::size_t> down, right, place, mirrored;
};

/// Reference: pads the image with zeros, crops, then mirrors.
float seen_in_frame(const std::vector<float>& image, const ExampleShape& shape, const element::Transform& transform,
                    std::int32_t padding, std::int64_t channel, std::int64_t y, std::int64_t x) {
    const std::int64_t width = shape.width + 2 * padding, height = shape.height + 2 * padding;
    std::vector<float> framed(static_cast<std::size_t>(width * height), 0.0F), cut;
    for (std::int64_t i = 0; i < shape.height; ++i)
        for (std::int64_t j = 0; j < shape.width; ++j)
            framed[static_cast<std::size_t>((i + padding) * width + j + padding)] =
                image[static_cast<std::size_t>((channel * shape.height + i) * shape.width + j)];
    for (std::int64_t i = 0; i < shape.height; ++i)
        for (std::int64_t j = 0; j < shape.width; ++j)
            cut.push_back(
                framed[static_cast<std::size_t>((i + padding + transform.down) * width + j + padding + transform.right)]);
    return cut[static_cast<std::size_t>(y * shape.width + (transform.mirrored ? shape.width - 1 - x : x))];
}

void check_images(const ExampleShape& shape, ValueType type, std::uint32_t padding) {
    constexpr std::size_t kExamples = 20;
    const std::size_t each = shape.num_values();
    Stream stream(6, Purpose::TrainData);
    std::vector<float> plain(kExamples * each);
    std::vector<std::uint8_t> values(plain.size() * bytes_of(type));
    for (std::size_t i = 0; i < plain.size(); ++i) {
        const auto byte = static_cast<std::uint8_t>(1 + stream.below(255));
        plain[i] = byte;
        if (type == ValueType::U8)
            values[i] = byte;
        else
            std::memcpy(&values[i * sizeof(float)], &plain[i], sizeof(float));
    }
    const std::vector<std::int32_t> labels(kExamples, 3);
    const ExamplesView view{.shape = shape, .values = values, .labels = labels, .type = type, .augmentation = {padding, true}};
    const BatchGather gather(shape, {{0.25}, {0.5}});
    std::vector<std::uint32_t> order{7, 19, 0, 7, 3, 12, 5}, transforms;
    append_transforms(view.augmentation, {8, 2}, order, transforms);
    std::vector<float> found(order.size() * each), twin(found.size()), unseen(found.size());
    std::vector<std::int64_t> found_labels(order.size()), twin_labels(order.size());
    gather.gather(view, order, found.data(), {.labels = found_labels.data()}, transforms);
    gather.gather(view, order, unseen.data(), {.labels = twin_labels.data()});
    CHECK(found != unseen);

    element::GatherTerms terms{};
    terms.values = values.data();
    terms.labels = labels.data();
    terms.order = order.data();
    terms.scale = gather.scale(type).data();
    terms.shift = gather.shift().data();
    terms.num_values = static_cast<std::uint32_t>(each);
    terms.plane = static_cast<std::uint32_t>(shape.height * shape.width);
    terms.type = type;
    terms.transforms = transforms.data();
    terms.width = static_cast<std::uint32_t>(shape.width);
    for (std::size_t row = 0; row < order.size(); ++row)
        for (std::uint32_t at = 0; at < terms.num_values; ++at)
            element::gather(terms, row, at, twin.data(), {twin_labels.data(), nullptr});
    CHECK(std::memcmp(found.data(), twin.data(), found.size() * sizeof(float)) == 0);
    CHECK(found_labels == twin_labels);

    const float scale = gather.scale(type)[0], shift = gather.shift()[0];
    std::size_t wrong = 0, at = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        const std::vector<float> image(plain.begin() + static_cast<std::ptrdiff_t>(order[i] * each),
                                       plain.begin() + static_cast<std::ptrdiff_t>((order[i] + 1) * each));
        for (std::int64_t c = 0; c < shape.channels; ++c)
            for (std::int64_t y = 0; y < shape.height; ++y)
                for (std::int64_t x = 0; x < shape.width; ++x, ++at)
                    wrong += found[at] != seen_in_frame(image, shape, element::Transform::of(transforms[i]),
                                                        static_cast<std::int32_t>(padding), c, y, x) *
                                                  scale +
                                              shift;
    }
    CHECK(wrong == 0);
}

}  // namespace

TEST_SUITE("Transforms") {
    TEST_CASE("ShiftsAndMirrorsAreUniformAndIndependent") {
        constexpr std::size_t kExamples = 60'000;
        for (const std::uint32_t padding : {1U, 4U}) {
            const Augmentation augmentation{padding, true};
            const Seen seen(augmentation, transforms_of(augmentation, {3, 1}, kExamples));
            for (const auto* counts : {&seen.down, &seen.right, &seen.place, &seen.mirrored})
                CHECK(chi_square(*counts) < chi_square_bound(counts->size()));
        }
        const Augmentation crop{2, false}, flip{0, true};
        CHECK(Seen(crop, transforms_of(crop, {3, 1}, 100)).mirrored[1] == 0);
        const Seen mirrored(flip, transforms_of(flip, {3, 1}, kExamples));
        CHECK(mirrored.down.size() == 1);
        CHECK(chi_square(mirrored.mirrored) < chi_square_bound(2));
    }

    TEST_CASE("NextEpochsAndOtherKeysAreIndependent") {
        constexpr std::size_t kExamples = 60'000;
        const Augmentation augmentation{1, true};
        const std::vector<std::uint32_t> first = transforms_of(augmentation, {3, 0}, kExamples);
        CHECK(first == transforms_of(augmentation, {3, 0}, kExamples));
        for (const TransformKey& other : {TransformKey{3, 1}, TransformKey{4, 0}, TransformKey{3ULL << 32, 0}}) {
            const std::vector<std::uint32_t> second = transforms_of(augmentation, other, kExamples);
            std::vector<std::size_t> both(18 * 18);
            const auto number = [](std::uint32_t packed) {
                const element::Transform transform = element::Transform::of(packed);
                return static_cast<std::size_t>(((transform.down + 1) * 3 + transform.right + 1) * 2 +
                                                (transform.mirrored ? 1 : 0));
            };
            for (std::size_t i = 0; i < kExamples; ++i) ++both[number(first[i]) * 18 + number(second[i])];
            CHECK(chi_square(both) < chi_square_bound(both.size()));
        }
    }

    TEST_CASE("ALookBelongsToItsExampleWhereverItStands") {
        const Augmentation augmentation{4, true};
        const std::vector<std::uint32_t> all = transforms_of(augmentation, {3, 1}, 50);
        std::vector<std::uint32_t> some;
        append_transforms(augmentation, {3, 1}, std::vector<std::uint32_t>{40, 2, 7}, some);
        CHECK(some == std::vector<std::uint32_t>{all[40], all[2], all[7]});
    }

    TEST_CASE("TransformsOfABatchAreThoseOfItsKey") {
        const Augmentation augmentation{4, true};
        const std::vector<std::uint32_t> examples{1, 2, 3, 4, 5, 6};
        Transforms transforms(augmentation);
        for (const TransformKey& key : {TransformKey{9, 0}, TransformKey{9, 1}, TransformKey{10, 0}}) {
            std::vector<std::uint32_t> expected;
            append_transforms(augmentation, key, examples, expected);
            const auto found = transforms.of(key, examples);
            CHECK(std::vector<std::uint32_t>(found.begin(), found.end()) == expected);
        }
        CHECK(transforms.any());
        Transforms none{Augmentation{}};
        CHECK_FALSE(none.any());
        CHECK(none.of({9, 0}, examples).empty());
    }

    TEST_CASE("ImagesAreSeenAsCutOutOfAFrameAndMirrored") {
        check_images({1, 5, 7}, ValueType::U8, 2);
        check_images({3, 6, 4}, ValueType::F32, 1);
        check_images({2, 3, 3}, ValueType::U8, 9);  // some crops contain only padding
        check_images({3, 8, 8}, ValueType::U8, 0);
        check_images({1, 2, 2}, ValueType::F32, Augmentation::kMostPadding);
    }

    TEST_CASE("WhatIsNoImageIsRefused") {
        check_augmentation({}, {80, 1, 1, 65});
        check_augmentation({4, true}, {1, 1, 5});
        CHECK_THROWN_MESSAGE("data", "", ConfigError, check_augmentation({4, false}, {80, 1, 1, 65}));
        CHECK_THROWN_MESSAGE("data", "", ConfigError, check_augmentation({0, true}, {20, 1, 1}));
    }
}
