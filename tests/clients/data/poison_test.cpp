#include "clients/data/poison.h"

#include "aggregation/base/error.h"
#include "clients/data/shared_dataset.h"

#include "tests/support/golden_messages.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

using namespace fedhive;
using namespace fedhive::clients;

namespace {

constexpr std::size_t kPoisonClients = 4;
constexpr std::size_t kOfEach = 50;
constexpr std::int64_t kPoisonLabels = 5;

/// Images of 2 × 4 × 4 bytes of value 7; label of example i: i mod 5.
Examples small_images(std::size_t count) {
    Examples part{.shape = {2, 4, 4}, .values = std::vector<std::uint8_t>(count * 32, 7), .labels = {}};
    for (std::size_t i = 0; i < count; ++i) part.labels.push_back(static_cast<std::int32_t>(i % kPoisonLabels));
    return part;
}

/// Client k trains on examples 50 k to 50 k + 49.
struct Poisoned {
    Dataset data{small_images(kPoisonClients * kOfEach), small_images(20), kPoisonLabels};
    std::vector<std::uint32_t> indices;

    Poisoned() {
        for (std::uint32_t i = 0; i < kPoisonClients * kOfEach; ++i) indices.push_back(i);
    }
    explicit Poisoned(const std::string& kind, const Values& values = {}) : Poisoned() { poison_by(kind, values); }

    void poison_by(const std::string& kind, const Values& values = {}) {
        poison(
            data, {kind, completed(values, poison_spec(kind).keys)}, kPoisonClients,
            [&](std::size_t client) { return std::span(indices).subspan(client * kOfEach, kOfEach); },
            [](std::size_t client) { return client == 1 || client == 2; }, 3);
    }
    bool attacks(std::size_t example) const { return example / kOfEach == 1 || example / kOfEach == 2; }
    std::span<const std::uint8_t> image(std::size_t example) const {
        return std::span(data.train.values).subspan(example * 32, 32);
    }
};

const std::vector<std::uint8_t> kCleanImage(32, 7);

std::string refused(const std::string& kind, const Values& values, const Dataset& data) {
    try {
        poison_spec(kind).check(completed(values, poison_spec(kind).keys), data.train, data.num_classes);
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_SUITE("Poison") {
    TEST_CASE("OnlyAttackersHaveOtherLabels") {
        const Poisoned flipped("label_flip"), mapped("label_map", {{"labels", std::vector<double>{0, 1, 2, 0, 4}}});
        for (std::size_t i = 0; i < flipped.data.train.labels.size(); ++i) {
            const auto label = static_cast<std::int32_t>(i % kPoisonLabels);
            CHECK(flipped.data.train.labels[i] == (flipped.attacks(i) ? 4 - label : label));
            CHECK(mapped.data.train.labels[i] == (mapped.attacks(i) && label == 3 ? 0 : label));
        }
        CHECK(flipped.data.train.values == small_images(kPoisonClients * kOfEach).values);
        CHECK(flipped.data.test.labels == small_images(20).labels);
        CHECK(flipped.data.num_triggered == 0);
    }

    TEST_CASE("NothingIsPoisonedByNone") {
        const Poisoned none("none");
        CHECK(none.data.train.labels == small_images(kPoisonClients * kOfEach).labels);
    }

    TEST_CASE("ThereHasToBeAnAttacker") {
        Poisoned one;
        CHECK_THROWS_AS(poison(
                            one.data, {"label_flip"}, kPoisonClients, {}, [](std::size_t) { return false; }, 3),
                        ConfigError);
    }

    TEST_CASE("LabelsThatDoNotCountStay") {
        Poisoned one;
        one.data.train.labels[kOfEach] = kIgnored;
        one.poison_by("label_flip");
        CHECK(one.data.train.labels[kOfEach] == kIgnored);
        one.poison_by("trigger", {{"examples", 1.0}});
        CHECK(one.data.train.labels[kOfEach] == kIgnored);
    }

    TEST_CASE("AShareOfAnAttackersImagesHasTheTriggerAndItsLabel") {
        const Poisoned one("trigger",
                           {{"size", std::int64_t{2}}, {"target", std::int64_t{3}}, {"examples", 0.4}, {"value", 0.5}});
        std::vector<std::uint8_t> stamped = kCleanImage;
        for (const std::size_t channel : {0U, 16U})
            for (const std::size_t pixel : {10U, 11U, 14U, 15U}) stamped[channel + pixel] = 128;
        std::size_t poisoned = 0;
        for (std::size_t i = 0; i < one.data.train.labels.size(); ++i) {
            const bool has = std::ranges::equal(one.image(i), stamped);
            CHECK((has || std::ranges::equal(one.image(i), kCleanImage)));
            CHECK((!has || one.attacks(i)));
            CHECK(one.data.train.labels[i] == (has ? 3 : static_cast<std::int32_t>(i % kPoisonLabels)));
            poisoned += has ? 1 : 0;
        }
        CHECK(poisoned > 25);  // 40 of 100, standard deviation 5
        CHECK(poisoned < 55);
        const Poisoned again("trigger",
                             {{"size", std::int64_t{2}}, {"target", std::int64_t{3}}, {"examples", 0.4}, {"value", 0.5}});
        CHECK(again.data.train.values == one.data.train.values);
        const Poisoned all("trigger", {{"examples", 1.0}});
        CHECK(std::count(all.data.train.labels.begin() + kOfEach, all.data.train.labels.begin() + 3 * kOfEach, 0) ==
              2 * kOfEach);
    }

    TEST_CASE("TriggeredCopiesOfOtherClassesStandBehindTheTestExamples") {
        const Poisoned one("trigger", {{"size", std::int64_t{4}}, {"target", std::int64_t{3}}});
        CHECK(one.data.num_triggered == 16);  // 4 of 20 have label 3
        REQUIRE(one.data.test.labels.size() == 36);
        CHECK(std::equal(one.data.test.labels.begin(), one.data.test.labels.begin() + 20, small_images(20).labels.begin()));
        CHECK(std::all_of(one.data.test.labels.begin() + 20, one.data.test.labels.end(),
                          [](std::int32_t label) { return label == 3; }));
        CHECK(std::all_of(one.data.test.values.begin() + 20 * 32, one.data.test.values.end(),
                          [](std::uint8_t byte) { return byte == 255; }));
        const SharedDataset shared = SharedDataset::create(one.data, Partition{one.indices, {0, 200}});
        CHECK(shared.map().num_test == 20);
        CHECK(shared.map().num_triggered == 16);
        CHECK(shared.test().size() == 36);
        CHECK(shared.shard(0)[199] == 199);
    }

    TEST_CASE("FloatsGetTheValueItself") {
        Poisoned one;
        for (Examples* part : {&one.data.train, &one.data.test}) {
            part->type = ValueType::F32;
            part->values.assign(part->size() * 32 * sizeof(float), 0);
        }
        one.poison_by("trigger", {{"size", std::int64_t{1}}, {"value", 2.5}, {"examples", 1.0}});
        float value = 0.0F;
        std::memcpy(&value, one.data.train.values.data() + (kOfEach * 32 + 15) * sizeof value, sizeof value);
        CHECK(value == 2.5F);
        std::memcpy(&value, one.data.train.values.data() + (kOfEach * 32 + 14) * sizeof value, sizeof value);
        CHECK(value == 0.0F);
    }

    TEST_CASE("WhatDoesNotFitTheDataIsRefused") {
        const Poisoned clean;
        for (const double value : {-0.5, 1.5}) CHECK_MESSAGE_IS("data", "", refused("trigger", {{"value", value}}, clean.data));
        CHECK(
            refused("trigger", {{"size", std::int64_t{5}}}, clean.data).find("5 x 5 pixels does not fit on images of 4 x 4") !=
            std::string::npos);
        CHECK(refused("trigger", {{"target", std::int64_t{5}}}, clean.data).find("target: 5") != std::string::npos);
        CHECK(refused("label_map", {{"labels", std::vector<double>{1, 0}}}, clean.data).find("2 entries for 5 classes") !=
              std::string::npos);
        CHECK(refused("label_map", {{"labels", std::vector<double>{0, 1, 2, 3, 5}}}, clean.data).find("5 is not a class") !=
              std::string::npos);
        CHECK(refused("label_map", {{"labels", std::vector<double>{0, 1, 2, 3, 0.5}}}, clean.data).find("0.5 is not a class") !=
              std::string::npos);
        Dataset numbers = clean.data;
        numbers.train.target = {TargetKind::Numbers, 1};
        for (const char* kind : {"label_flip", "label_map", "trigger"})
            CHECK(refused(kind, {}, numbers).find("numbers") != std::string::npos);
        Dataset features = clean.data;
        features.train.shape = {32, 1, 1};
        CHECK(refused("trigger", {}, features).find("not images") != std::string::npos);
    }
}
