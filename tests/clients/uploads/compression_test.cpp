// Compressing upload steps, each against its definition, and their reported sizes.
#include "tests/clients/uploads/trained.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

using namespace fedhive;
using namespace fedhive::clients;
using clients::testing::Trained;

namespace {

std::vector<std::size_t> sent(const std::vector<float>& update) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < update.size(); ++i)
        if (update[i] != 0.0F) places.push_back(i);
    return places;
}

std::uint64_t bytes_of(const Trained& trained) { return upload_size(trained.plan, trained.layout).bytes(); }

constexpr std::uint64_t kParameters = 3005;

/// A client that keeps the residual `kept` and writes `next`.
struct Feedback {
    Feedback(const std::vector<float>& before, std::vector<float>& after) : kept(before), next(after) {
        const UploadSpec& spec = entry_of(upload_catalog(), "error_feedback", "step");
        memories.add(spec.memories.front(), {.trainable = after.size()});
    }
    aggregation::VisitMemories visit() {
        return {.all = &memories, .region = {}, .record = kept, .slot = next, .beside = next};
    }

    aggregation::ConstParamSpan kept;
    aggregation::ParamSpan next;
    aggregation::Memories memories;
};

}  // namespace

TEST_SUITE("Compression") {
    TEST_CASE("TopKSendsTheLargestValuesWithTheirBitsAndNoOther") {
        const Trained trained({upload_step("top_k", {{"kept", 0.05}})});
        const std::vector<float> bare = trained.bare(), update = trained.update();
        std::vector<std::size_t> by_size = trained.places();
        std::stable_sort(by_size.begin(), by_size.end(),
                         [&](std::size_t a, std::size_t b) { return std::abs(bare[a]) > std::abs(bare[b]); });
        const std::set<std::size_t> largest(by_size.begin(), by_size.begin() + 150);
        for (std::size_t i = 0; i < bare.size(); ++i) CHECK(update[i] == (largest.contains(i) ? bare[i] : 0.0F));
    }

    TEST_CASE("OfEqualValuesTheFirstOnesAreSent") {
        Trained trained({upload_step("top_k", {{"kept", 0.001}})});  // three values
        trained.local = trained.global;
        for (const std::size_t place : {7U, 90U, 200U, 1500U}) trained.local[place] = trained.global[place] = 0.0F;
        for (const std::size_t place : {7U, 200U, 1500U}) trained.local[place] = 0.25F;
        trained.local[90] = -1.0F;
        CHECK(sent(trained.update()) == std::vector<std::size_t>{7, 90, 200});
    }

    TEST_CASE("ValuesThatAreNotFiniteAreNeverLeftOutOrRounded") {
        for (const char* name : {"top_k", "quantize", "sign", "fp16", "terngrad", "stc", "drive", "eden"})
            for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
                CAPTURE(name);
                Trained trained({upload_step(name, {})});
                trained.local[1234] = bad;
                CHECK_FALSE(std::isfinite(trained.update()[1234]));
            }
    }

    TEST_CASE("RandomKSendsAsManyAtPlacesOfTheClientsOwnAndItsMeanIsTheUpdate") {
        const Trained trained({upload_step("random_k", {{"kept", 0.25}})});
        const std::vector<float> bare = trained.bare();
        CHECK(sent(trained.update(1)) != sent(trained.update(2)));
        CHECK(trained.update(1) == trained.update(1));
        constexpr int kDraws = 4000;
        std::vector<double> mean(bare.size(), 0.0);
        for (std::uint32_t client = 0; client < kDraws; ++client) {
            const std::vector<float> update = trained.update(client);
            CHECK(sent(update).size() == 751);
            for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += update[i] / kDraws;
        }
        // A value is sent 4 times as large in a quarter of the draws: standard deviation √3 · |value|, of
        // the mean 1 / √4000 of that.
        double worst = 0.0;
        for (const std::size_t i : trained.places())
            worst = std::max(worst, std::abs(mean[i] - bare[i]) / (std::sqrt(3.0 / kDraws) * std::abs(bare[i]) + 1e-6));
        CHECK(worst < 5.0);
    }

    TEST_CASE("QuantizedValuesAreLevelsOfTheirTensorAndTheirMeanIsTheValue") {
        const Trained trained({upload_step("quantize", {{"bits", std::int64_t{3}}})});  // 3 levels above 0
        const std::vector<float> bare = trained.bare();
        constexpr int kDraws = 2000;
        std::vector<double> mean(bare.size(), 0.0);
        for (std::uint32_t client = 0; client < kDraws; ++client) {
            const std::vector<float> update = trained.update(client);
            for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += update[i] / kDraws;
        }
        const std::vector<float> update = trained.update();
        for (const aggregation::LayoutEntry& entry : trained.layout.entries()) {
            float largest = 0.0F;
            for (std::size_t i = entry.offset; i < entry.offset + entry.size; ++i)
                largest = std::max(largest, std::abs(bare[i]));
            for (std::size_t i = entry.offset; i < entry.offset + entry.size; ++i) {
                const double level = update[i] / largest * 3.0;
                CHECK(level == doctest::Approx(std::round(level)).epsilon(1e-4));
                CHECK(std::abs(update[i] - bare[i]) < largest / 3.0F * 1.0001F);
                CHECK(std::abs(mean[i] - bare[i]) < 5.0 * 0.5 * largest / 3.0 / std::sqrt(kDraws));
            }
        }
        CHECK(trained.update(1) != trained.update(2));
    }

    TEST_CASE("SignsAreAsLongAsTheMeanMagnitudeOfTheirTensor") {
        Trained trained({upload_step("sign", {})});
        trained.local[11] = trained.global[11];  // 0
        const std::vector<float> bare = trained.bare(), update = trained.update();
        for (const aggregation::LayoutEntry& entry : trained.layout.entries()) {
            double mean = 0.0;
            for (std::size_t i = entry.offset; i < entry.offset + entry.size; ++i)
                mean += std::abs(bare[i]) / static_cast<double>(entry.size);
            for (std::size_t i = entry.offset; i < entry.offset + entry.size; ++i)
                CHECK(update[i] == doctest::Approx(bare[i] < 0.0F ? -mean : mean).epsilon(1e-4));
        }
        for (std::size_t i = 3000; i < trained.layout.entries()[1].offset; ++i)
            CHECK(update[i] == 0.0F);  // padding between the tensors
    }

    TEST_CASE("WhatIsLeftIsRoundedAndWhatWasLeftOutStaysOut") {
        for (const char* rounds : {"sign", "quantize", "terngrad", "drive", "eden"}) {
            const Trained chosen({upload_step("top_k", {{"kept", 0.1}})});
            const Trained both({upload_step("top_k", {{"kept", 0.1}}), upload_step(rounds, {})});
            CHECK(sent(both.update()) == sent(chosen.update()));
            CHECK(both.update() != chosen.update());
        }
    }

    TEST_CASE("SizesAreWhatAServerWouldGet") {
        CHECK(bytes_of(Trained({})) == 4 * kParameters);
        CHECK(bytes_of(Trained({upload_step("clip", {})})) == 4 * kParameters);
        const UploadStep few = upload_step("top_k", {{"kept", 0.01}}), many = upload_step("top_k", {{"kept", 0.5}});
        CHECK(bytes_of(Trained({few})) == 30 * (4 + 4));
        CHECK(bytes_of(Trained({many})) == 1503 * 4 + 376);  // one bit per value is less than 4 bytes for half of them
        CHECK(bytes_of(Trained({upload_step("top_k", {{"kept", 1.0}})})) == 4 * kParameters);
        CHECK(bytes_of(Trained({upload_step("top_k", {{"kept", 1e-9}})})) == 8);
        CHECK(bytes_of(Trained({upload_step("random_k", {{"kept", 0.01}})})) == 30 * 4 + 8);
        const UploadStep four_bits = upload_step("quantize", {{"bits", std::int64_t{4}}});
        CHECK(bytes_of(Trained({four_bits})) == 1503 + 2 * 4);
        CHECK(bytes_of(Trained({upload_step("sign", {})})) == 376 + 2 * 4);
        CHECK(bytes_of(Trained({few, four_bits})) == 15 + 30 * 4 + 2 * 4);
    }

    TEST_CASE("BuffersLeaveAsTheyAreAndAreCounted") {
        Trained trained({upload_step("top_k", {{"kept", 1e-9}})});
        trained.layout.add("running_mean", {8}, aggregation::TensorKind::Buffer);
        const std::size_t first = trained.layout.entries()[2].offset;
        trained.global.resize(trained.layout.num_floats(), 0.0F);
        trained.local.resize(trained.layout.num_floats(), 0.0F);
        std::iota(trained.local.begin() + static_cast<std::ptrdiff_t>(first),
                  trained.local.begin() + static_cast<std::ptrdiff_t>(first) + 8, 1.0F);
        const std::vector<float> update = trained.update();
        for (std::size_t i = 0; i < 8; ++i) CHECK(update[first + i] == static_cast<float>(i + 1));
        CHECK(sent(update).size() == 9);
        CHECK(bytes_of(trained) == 8 + 8 * 4);
    }

    TEST_CASE("WhatIsTakenOffStaysWithTheClientToTheLastBitOfItsUpdate") {
        for (const char* name : {"top_k", "random_k", "quantize", "sign", "fp16", "terngrad", "stc", "drive", "eden"}) {
            CAPTURE(name);
            const Trained trained({upload_step("error_feedback", {}), upload_step(name, {})});
            const std::size_t trainable = trained.layout.num_trainable();
            const std::vector<float> bare = trained.bare();
            std::vector<double> sent_in_all(bare.size(), 0.0);
            std::vector<float> kept;
            constexpr int kRounds = 40;
            for (std::uint32_t round = 0; round < kRounds; ++round) {
                std::vector<float> leaves = trained.local, next(trainable, -1.0F);
                UploadChain chain(trained.plan, trained.layout);
                chain.apply(leaves, trained.global, 7, round, 4, 1, Feedback(kept, next).visit());
                for (std::size_t i = 0; i < trainable; ++i) {
                    const float before = kept.empty() ? 0.0F : kept[i];
                    const float update = leaves[i] - trained.global[i];
                    CHECK(next[i] == (bare[i] + before) - update);
                    sent_in_all[i] += update;
                }
                kept = next;
            }
            // Nothing is lost: the sum of all sent updates and the residual equals the sum of the updates.
            for (std::size_t i = 0; i < trainable; ++i)
                CHECK(sent_in_all[i] + kept[i] == doctest::Approx(kRounds * static_cast<double>(bare[i])).epsilon(1e-4));
            CHECK(std::any_of(kept.begin(), kept.end(), [](float value) { return value != 0.0F; }));
        }
    }

    TEST_CASE("OfTensorsThatStayWithTheClientNothingIsChosenOrCounted") {
        Trained trained({upload_step("top_k", {{"kept", 0.01}})});
        const std::string stays = trained.layout.entries().front().name;
        const aggregation::Layout sent_part = trained.layout.without({stays});
        const std::uint64_t left = sent_part.num_parameters();
        REQUIRE(left + trained.layout.entries().front().size == trained.layout.num_parameters());
        std::vector<float> leaves = trained.local;
        UploadChain(trained.plan, trained.layout, sent_part).apply(leaves, trained.global, 7, 2, 4, 1);
        for (std::size_t i = 0; i < leaves.size(); ++i) leaves[i] -= trained.global[i];
        const std::vector<float> bare = trained.bare();
        const std::size_t end = trained.layout.entries()[1].offset;
        CHECK(std::equal(bare.begin(), bare.begin() + static_cast<std::ptrdiff_t>(end), leaves.begin()));  // its owner hides it
        const auto chosen = std::count_if(leaves.begin() + static_cast<std::ptrdiff_t>(end), leaves.end(),
                                          [](float value) { return value != 0.0F; });
        CHECK(chosen == std::max<std::int64_t>(1, std::llround(0.01 * static_cast<double>(left))));
        CHECK(upload_size(trained.plan, sent_part).parameters == static_cast<std::uint64_t>(chosen));
    }

    TEST_CASE("ChosenValuesAreNoLongerWhereTheRestIsSentLater") {
        const Trained trained({upload_step("error_feedback", {}), upload_step("random_k", {{"kept", 0.25}})});
        const std::vector<float> bare = trained.bare(), update = trained.update();
        CHECK(sent(update).size() == 751);
        for (const std::size_t i : sent(update)) CHECK(update[i] == bare[i]);
    }

    TEST_CASE("FeedbackTakesNoBytesAndLeavesBuffersAlone") {
        Trained trained({upload_step("error_feedback", {}), upload_step("top_k", {})});
        CHECK(bytes_of(trained) == 30 * 8);
        trained.layout.add("running_mean", {8}, aggregation::TensorKind::Buffer);
        trained.global.resize(trained.layout.num_floats(), 0.3F);
        trained.local.resize(trained.layout.num_floats(), 1.7F);
        const std::size_t trainable = trained.layout.num_trainable();
        std::vector<float> leaves = trained.local, kept(trainable, 0.5F), next(trainable);
        UploadChain(trained.plan, trained.layout).apply(leaves, trained.global, 7, 2, 4, 1, Feedback(kept, next).visit());
        for (std::size_t i = trainable; i < leaves.size(); ++i) CHECK(leaves[i] == trained.local[i]);
    }
}
