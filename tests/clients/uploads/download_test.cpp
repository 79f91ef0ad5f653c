// Chains at the server: what clients have after its messages.
#include "tests/clients/uploads/trained.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

using namespace fedhive;
using namespace fedhive::clients;
using clients::testing::Trained;

namespace {

/// The model that clients decompress from `model` if they have `before`.
std::vector<float> sent_of(const std::vector<UploadStep>& steps, const std::vector<float>& model,
                           const std::vector<float>& before, std::uint32_t round = 2, std::uint64_t seed = 7) {
    const Trained any(steps);
    UploadChain chain(any.plan, any.layout);
    std::vector<float> sent = model;
    chain.compress(sent, before, seed, round);
    return sent;
}

double distance_of(const std::vector<float>& a, const std::vector<float>& b) {
    double squares = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) squares += std::pow(static_cast<double>(a[i]) - b[i], 2);
    return std::sqrt(squares);
}

const std::vector<UploadStep> kLargestLater{upload_step("error_feedback", {}), upload_step("top_k", {{"kept", 0.25}})};

}  // namespace

TEST_SUITE("Download") {
    TEST_CASE("CatalogHasTheStepsThatCompressAndNoOther") {
        for (const UploadSpec& spec : download_catalog()) CHECK((spec.shrink != nullptr || spec.keeps_residual()));
        const auto has = [](const char* name) { return std::ranges::find(download_catalog(), name, &UploadSpec::name); };
        for (const char* name : {"quantize", "terngrad", "fp16", "drive", "eden", "top_k", "stc", "error_feedback"})
            CHECK_MESSAGE(has(name) != download_catalog().end(), name);
        for (const char* name : {"clip", "gaussian_noise", "sign_flip"})
            CHECK_MESSAGE(has(name) == download_catalog().end(), name);
    }

    TEST_CASE("AgainstZerosTheModelItselfIsCompressed") {
        const Trained trained({});
        const std::vector<float> zeros(trained.global.size(), 0.0F);
        const std::vector<float> half = sent_of({upload_step("fp16", {})}, trained.global, zeros);
        for (std::size_t i = 0; i < half.size(); ++i) CHECK(half[i] == doctest::Approx(trained.global[i]).epsilon(1e-3));
        CHECK(half != trained.global);
        const std::vector<float> levels =
            sent_of({upload_step("quantize", {{"bits", std::int64_t{3}}})}, trained.global, zeros);
        const float largest = *std::max_element(levels.begin(), levels.begin() + 3000);
        for (std::size_t i = 0; i < 3000; ++i)
            CHECK(levels[i] / largest * 3.0F == doctest::Approx(std::round(levels[i] / largest * 3.0F)).epsilon(1e-4));
    }

    TEST_CASE("DrawsAreThoseOfTheRoundAndTheSeed") {
        const Trained trained({});
        const std::vector<float> zeros(trained.global.size(), 0.0F);
        const std::vector<UploadStep> levels{upload_step("quantize", {})};
        const std::vector<float> once = sent_of(levels, trained.global, zeros);
        CHECK(sent_of(levels, trained.global, zeros) == once);
        CHECK(sent_of(levels, trained.global, zeros, 3) != once);
        CHECK(sent_of(levels, trained.global, zeros, 2, 8) != once);
    }

    TEST_CASE("WhatAMessageLosesComesWithLaterOnes") {
        const Trained trained({});
        std::vector<float> have = trained.global;
        std::vector<double> left{distance_of(have, trained.local)};
        for (std::uint32_t round = 0; round < 5; ++round) {
            have = sent_of(kLargestLater, trained.local, have, round);
            left.push_back(distance_of(have, trained.local));
            CHECK(left[round + 1] < left[round]);
        }
        CHECK(left[3] > 1e-3 * left[0]);
        CHECK(left[5] < 1e-5 * left[0]);  // four quarters of 751 values, and one more
    }

    TEST_CASE("WithErrorFeedbackDrawnPlacesAreNotScaledUp") {
        const Trained trained({});
        const UploadStep drawn = upload_step("random_k", {{"kept", 0.25}});
        const auto longest = [&](const std::vector<UploadStep>& steps) {
            const std::vector<float> sent = sent_of(steps, trained.local, trained.global);
            double most = 0.0;
            for (std::size_t i = 0; i < sent.size(); ++i)
                most = std::max(most, std::abs(static_cast<double>(sent[i]) - trained.global[i]));
            return most;
        };
        CHECK(longest({upload_step("error_feedback", {}), drawn}) == doctest::Approx(0.01).epsilon(1e-3));
        CHECK(longest({drawn}) == doctest::Approx(0.04).epsilon(1e-3));
    }
}
