// Steps of the upload chain against their papers' formulas in NumPy (tests/golden/uploads.py), and what the papers promise.
#include "tests/clients/uploads/trained.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>
#include <set>

using namespace fedhive;
using namespace fedhive::clients;
using clients::testing::Trained;
using nlohmann::json;

namespace {

/// The model and the client's model of uploads.py.
struct GoldenUpload {
    explicit GoldenUpload(const json& golden) {
        for (const json& size : golden["shapes"])
            layout.add(fmt::format("tensor_{}", layout.entries().size()), {size.get<std::int64_t>()});
        global.resize(layout.num_floats(), 0.0F);
        local.resize(layout.num_floats(), 0.0F);
        std::int64_t i = 0;
        for (const aggregation::LayoutEntry& entry : layout.entries())
            for (std::size_t place = entry.offset; place < entry.offset + entry.size; ++place, ++i) {
                places.push_back(place);
                global[place] = static_cast<float>(i * 37 % 64 - 32) / 64.0F;
                local[place] = global[place] + static_cast<float>((i * i * 7919 + i * 104729) % 60013 - 30000) * 0x1.0p-20F;
            }
    }

    aggregation::Layout layout;
    std::vector<float> global, local;
    std::vector<std::size_t> places;
};

UploadStep step_of_case(const json& one) {
    Values values;
    const auto& spec = entry_of(upload_catalog(), one["name"].get<std::string>(), "step");
    for (const KeySpec& key : spec.keys) {
        if (!one.contains(key.name)) continue;
        if (std::holds_alternative<std::int64_t>(key.default_value))
            values.set(key.name, one[key.name].get<std::int64_t>());
        else
            values.set(key.name, one[key.name].get<double>());
    }
    return upload_step(spec.name, values);
}

/// The residual of a client that has none yet.
struct FirstResidual {
    explicit FirstResidual(std::size_t trainable) : after(trainable) {
        memories.add(entry_of(upload_catalog(), "error_feedback", "step").memories.front(), {.trainable = trainable});
    }
    aggregation::VisitMemories visit() {
        return {.all = &memories, .region = {}, .record = before, .slot = after, .beside = after};
    }
    std::vector<float> before, after;
    aggregation::Memories memories;
};

double dot(const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    return sum;
}

double squared_error(const Trained& trained, std::uint32_t client) {
    const std::vector<float> bare = trained.bare(), sent = trained.update(client);
    double sum = 0.0;
    for (std::size_t i = 0; i < bare.size(); ++i)
        sum += (static_cast<double>(sent[i]) - static_cast<double>(bare[i])) *
               (static_cast<double>(sent[i]) - static_cast<double>(bare[i]));
    return sum / dot(bare, bare);
}

/// |mean of sent − u|² over `draws` draws, divided by what it is for a mean of u: (E|sent|² − |u|²) / draws.
double error_of_mean(const Trained& trained, std::uint32_t draws) {
    const std::vector<float> bare = trained.bare();
    std::vector<double> mean(bare.size(), 0.0);
    double squares = 0.0;
    for (std::uint32_t client = 0; client < draws; ++client) {
        const std::vector<float> update = trained.update(client);
        squares += dot(update, update) / draws;
        for (std::size_t i = 0; i < bare.size(); ++i) mean[i] += static_cast<double>(update[i]) / draws;
    }
    double error = 0.0;
    for (std::size_t i = 0; i < bare.size(); ++i)
        error += (mean[i] - static_cast<double>(bare[i])) * (mean[i] - static_cast<double>(bare[i]));
    return error / ((squares - dot(bare, bare)) / draws);
}

}  // namespace

TEST_SUITE("UploadPapers") {
    TEST_CASE("EachStepEqualsItsFormulaInNumpy") {
        std::ifstream file(FEDHIVE_SOURCE_DIR "/tests/golden/uploads.json");
        REQUIRE(file.is_open());
        const json golden = json::parse(file);
        std::set<std::string> compared;
        for (const json& one : golden["cases"]) {
            CAPTURE(one["chain"].dump());
            GoldenUpload client(golden);
            UploadPlan plan;
            for (const json& step : one["chain"]) {
                plan.steps.at(plan.size++) = step_of_case(step);
                compared.insert(step["name"].get<std::string>());
            }
            FirstResidual residual(client.layout.num_trainable());
            UploadChain(plan, client.layout)
                .apply(client.local, client.global, golden["seed"], golden["round"], golden["client"], 1, residual.visit());
            std::vector<double> sent;
            for (const std::size_t i : client.places)
                sent.push_back(static_cast<double>(client.local[i]) - static_cast<double>(client.global[i]));
            const auto values = one["values"].get<std::vector<double>>();
            for (std::size_t i = 0; i < values.size(); ++i) {
                const double found = sent[one["places"][i].get<std::size_t>()];
                CHECK(std::abs(found - values[i]) <= 1.2e-7 * std::max(1.0, std::abs(values[i])));
            }
            CHECK(std::accumulate(sent.begin(), sent.end(), 0.0) ==
                  doctest::Approx(one["sum"].get<double>()).epsilon(1e-5).scale(1));
            CHECK(std::inner_product(sent.begin(), sent.end(), sent.begin(), 0.0) ==
                  doctest::Approx(one["squares"].get<double>()).epsilon(1e-5));
            CHECK(upload_size(plan, client.layout).bytes() == one["bytes"].get<std::uint64_t>());
        }
        CHECK(golden["cases"].size() == 20);
        for (const UploadSpec& spec : upload_catalog())
            if (spec.shrink != nullptr && spec.name != "random_k") CHECK_MESSAGE(compared.contains(spec.name), spec.name);
    }

    TEST_CASE("TernGradWithoutClippingIsTheQuantizerOfTwoBits") {
        const Trained ternary({upload_step("terngrad", {{"deviations", 0.0}})});
        CHECK(ternary.update() == Trained({upload_step("quantize", {{"bits", std::int64_t{2}}})}).update());
        CHECK(ternary.update() != Trained({upload_step("terngrad", {{"deviations", 1.0}})}).update());
        CHECK(error_of_mean(ternary, 1500) == doctest::Approx(1.0).epsilon(0.2));
    }

    TEST_CASE("DriveIsEdenOfOneBitAndItsProjectionOnTheUpdateIsTheUpdate") {
        const Trained drive({upload_step("drive", {})});
        CHECK(drive.update() == Trained({upload_step("eden", {{"bits", std::int64_t{1}}})}).update());
        const std::vector<float> bare = drive.bare();
        for (const std::int64_t bits : {1, 2, 3, 4})
            CHECK(dot(Trained({upload_step("eden", {{"bits", bits}})}).update(), bare) ==
                  doctest::Approx(dot(bare, bare)).epsilon(1e-5));
        CHECK(drive.update(1) != drive.update(2));
    }

    // The papers' normalised error for many values: π/2 − 1 for one bit, 1/(1 − e) − 1 for levels that leave e of a normal value's square.
    TEST_CASE("RotatedRoundingErrsAsThePapersSayAndIsUnbiased") {
        const std::vector<double> expected{std::acos(-1.0) / 2 - 1, 0.11748 / (1 - 0.11748), 0.034548 / (1 - 0.034548),
                                           0.0095010 / (1 - 0.0095010)};
        for (const std::int64_t bits : {1, 2, 3, 4}) {
            const Trained trained({upload_step("eden", {{"bits", bits}})});
            double error = 0.0;
            for (std::uint32_t client = 0; client < 60; ++client) error += squared_error(trained, client) / 60;
            const double in_all = 3005.0 / 4096.0;  // the rest of the error is in the zeros at the end
            CHECK(error == doctest::Approx(in_all * expected[static_cast<std::size_t>(bits) - 1]).epsilon(0.03).scale(0));
        }
        CHECK(error_of_mean(Trained({upload_step("drive", {})}), 1500) == doctest::Approx(1.0).epsilon(0.2));
    }

    TEST_CASE("HalvesAreNearestTiesGoToEvenAndWhatIsTooLargeBecomesInfinite") {
        Trained trained({upload_step("fp16", {})});
        const std::vector<std::pair<float, float>> cases{{1.0F, 1.0F},
                                                         {1.0F + 0x1p-11F, 1.0F},
                                                         {1.0F + 0x1.8p-10F, 1.0F + 0x1p-9F},
                                                         {-1.0F - 0x1.1p-11F, -1.0F - 0x1p-10F},
                                                         {0x1p-24F, 0x1p-24F},
                                                         {0x1p-25F, 0.0F},
                                                         {0x1.8p-24F, 0x1p-23F},
                                                         {65504.0F, 65504.0F},
                                                         {65519.0F, 65504.0F},
                                                         {0x1.ff8p-15F, 0x1.ff8p-15F}};
        for (std::size_t i = 0; i < cases.size(); ++i) {
            trained.global[i] = 0.0F;
            trained.local[i] = cases[i].first;
        }
        trained.global[20] = 0.0F;
        trained.local[20] = 65520.0F;
        const std::vector<float> update = trained.update();
        for (std::size_t i = 0; i < cases.size(); ++i) CHECK(update[i] == cases[i].second);
        CHECK(update[20] == std::numeric_limits<float>::infinity());
    }

    TEST_CASE("LaplaceNoiseHasItsScaleAndUpdatesAreCutToTheirL1Norm") {
        const std::vector<float> bare = Trained({}).bare();
        double norm = 0.0;
        for (const float value : bare) norm += std::abs(static_cast<double>(value));
        const Trained noisy({upload_step("laplace_noise", {{"l1_norm", norm / 2}, {"epsilon", norm}})});  // scale 1
        double magnitudes = 0.0, sum = 0.0, beyond = 0.0;
        const std::vector<std::size_t> places = noisy.places();
        constexpr std::uint32_t kClients = 20;
        for (std::uint32_t client = 0; client < kClients; ++client) {
            const std::vector<float> update = noisy.update(client);
            for (const std::size_t i : places) {
                const double noise = static_cast<double>(update[i]) - static_cast<double>(bare[i]) / 2;
                magnitudes += std::abs(noise);
                sum += noise;
                beyond += std::abs(noise) > 2.0 ? 1.0 : 0.0;
            }
        }
        const double count = kClients * static_cast<double>(places.size());
        CHECK(magnitudes / count == doctest::Approx(1.0).epsilon(5.0 / std::sqrt(count)));  // E|z| = b, its deviation b, too
        CHECK(std::abs(sum / count) < 5.0 * std::sqrt(2.0 / count));
        CHECK(std::abs(beyond / count - std::exp(-2.0)) < 5.0 * std::sqrt(std::exp(-2.0) / count));
        CHECK(noisy.update(1) == noisy.update(1));
        CHECK(noisy.update(1) != noisy.update(2));
    }

    TEST_CASE("StcSendsOneMagnitudeOfAllTensorsAtTheLargestPlaces") {
        const Trained chosen({upload_step("top_k", {{"kept", 0.02}})}), ternary({upload_step("stc", {{"kept", 0.02}})});
        const std::vector<float> largest = chosen.update(), sent = ternary.update();
        double mean = 0.0;
        for (const float value : largest) mean += std::abs(static_cast<double>(value)) / 60;
        for (std::size_t i = 0; i < sent.size(); ++i)
            CHECK(sent[i] == doctest::Approx(largest[i] == 0.0F ? 0.0 : std::copysign(mean, largest[i])).epsilon(1e-4));
        // 60 of 3,005 in Golomb code of b = 5: 60 · 6 + 93 bits of places, 60 signs, the magnitude.
        CHECK(upload_size(ternary.plan, ternary.layout).bytes() == 57 + 8 + 4);
    }
}
