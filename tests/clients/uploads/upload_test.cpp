// Steps of the upload chain, each against its definition.
#include "aggregation/math/vector_ops.h"
#include "tests/aggregation/spans.h"
#include "tests/clients/uploads/trained.h"
#include "tests/support/statistics.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace fedhive;
using namespace fedhive::clients;
using clients::testing::Trained;

namespace {

double norm_of(const std::vector<float>& values) {
    double squares = 0.0;
    for (const float value : values) squares += static_cast<double>(value) * value;
    return std::sqrt(squares);
}

}  // namespace

TEST_SUITE("Uploads") {
    TEST_CASE("LongUpdateIsCutToTheNormInItsDirection") {
        const Trained bare({});
        const double before = norm_of(bare.bare());
        const Trained clipped({upload_step("clip", {{"norm", before / 4}})});
        const std::vector<float> update = clipped.update();
        CHECK(norm_of(update) == doctest::Approx(before / 4).epsilon(1e-5));
        for (std::size_t i = 0; i < update.size(); ++i) CHECK(std::abs(update[i] - bare.bare()[i] / 4) < 1e-7F);
    }

    TEST_CASE("UpdateWithinTheNormAndOneThatIsNotFiniteLeaveAsTheyAre") {
        Trained short_enough({upload_step("clip", {{"norm", 100.0}})});
        CHECK(short_enough.update() == short_enough.bare());
        short_enough.local[17] = std::nanf("");
        CHECK(std::isnan(short_enough.update()[17]));
        Trained none({});
        CHECK(none.update() == none.bare());
    }

    TEST_CASE("AdaptiveClipGoesByTheNormOfTheRound") {
        const std::vector<UploadStep> steps{upload_step("adaptive_clip", {{"count_noise", std::optional(0.0)}})};
        const Trained bare({});
        const Trained clipped(steps);
        const double before = norm_of(bare.bare());
        const auto leaves_at = [&](double clip_norm, bool within) {
            std::vector<float> leaves = clipped.local;
            CHECK(UploadChain(clipped.plan, clipped.layout).apply(leaves, clipped.global, 7, 2, 4, 1, {}, clip_norm) == within);
            for (std::size_t i = 0; i < leaves.size(); ++i) leaves[i] -= clipped.global[i];
            return leaves;
        };
        CHECK(norm_of(leaves_at(before / 4, false)) == doctest::Approx(before / 4).epsilon(1e-5));
        CHECK(leaves_at(before * 1.01, true) == bare.bare());
        CHECK(noise_of_sum(clipped.plan, 3.0) == 0.0);
        Trained noisy({steps[0], upload_step("gaussian_noise", {{"multiplier", std::optional(0.5)}})});
        CHECK(noise_of_sum(noisy.plan, 3.0) == 1.5);
        std::vector<float> far(noisy.local), near(noisy.local);
        UploadChain(noisy.plan, noisy.layout).apply(far, noisy.global, 7, 2, 4, 1, {}, 200.0);
        UploadChain(noisy.plan, noisy.layout).apply(near, noisy.global, 7, 2, 4, 1, {}, 100.0);
        CHECK(far[1] - noisy.local[1] == doctest::Approx(2.0 * (near[1] - noisy.local[1])).epsilon(1e-4));
    }

    TEST_CASE("NoiseHasTheStandardDeviationOfItsShareAndIsNormal") {
        const Trained noisy(
            {upload_step("clip", {{"norm", 2.0}}), upload_step("gaussian_noise", {{"multiplier", std::optional(3.0)}})}, 10,
            16);
        const std::vector<float> bare = noisy.bare(), update = noisy.update();
        std::vector<double> drawn;
        for (const aggregation::LayoutEntry& entry : noisy.layout.entries())
            for (std::size_t i = entry.offset; i < entry.offset + entry.size; ++i)
                drawn.push_back((update[i] - bare[i]) / (3.0 * 2.0 / std::sqrt(16.0)));
        const double distance =
            fedhive::testing::kolmogorov_distance(drawn, [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); });
        CHECK(distance < fedhive::testing::kolmogorov_bound(drawn.size()));
        for (std::size_t i = 3000; i < noisy.layout.entries()[1].offset; ++i) CHECK(update[i] == 0.0F);  // padding
    }

    TEST_CASE("NoiseIsKeyedByClientRoundAndSeedAlone") {
        const std::vector<UploadStep> steps{upload_step("clip", {}),
                                            upload_step("gaussian_noise", {{"multiplier", std::optional(1.0)}})};
        const Trained noisy(steps);
        CHECK(noisy.update(4, 2) == Trained(steps).update(4, 2));
        CHECK(noisy.update(4, 2) != noisy.update(5, 2));
        CHECK(noisy.update(4, 2) != noisy.update(4, 3));
        CHECK(noisy.update(4, 2) != noisy.update(4, 2, 8));
        // The noise differs between tensors, between blocks of a tensor, and between steps.
        const std::vector<float> update = noisy.update(), bare = noisy.bare();
        const std::size_t second = noisy.layout.entries()[1].offset;
        CHECK(update[0] - bare[0] != update[second] - bare[second]);
    }

    TEST_CASE("ShareOfTheClientsAttacksAndItIsAlwaysTheSameOnes") {
        for (const std::uint64_t clients : {1U, 2U, 10U, 17U, 1000U}) {
            for (const double share : {0.0, 0.2, 0.5, 1.0}) {
                const Trained attacked({upload_step("sign_flip", {{"share", share}, {"factor", 2.0}})}, clients);
                const std::vector<float> bare = attacked.bare();
                std::uint64_t attackers = 0;
                for (std::uint32_t client = 0; client < clients; ++client) {
                    const std::vector<float> update = attacked.update(client);
                    const bool attacks = update != bare;
                    attackers += attacks ? 1 : 0;
                    if (attacks) CHECK(update[1] == doctest::Approx(-2.0 * bare[1]).epsilon(1e-4));
                    if (client < 3) CHECK((attacked.update(client, 9) != bare) == attacks);
                }
                CHECK(attackers == static_cast<std::uint64_t>(std::llround(share * static_cast<double>(clients))));
            }
        }
    }

    TEST_CASE("TheSameClientsScaleTheirUpdatesThatWouldReverseThem") {
        const Trained scaled({upload_step("scaled_update", {{"share", 0.4}, {"factor", 10.0}})}, 10);
        const Trained flipped({upload_step("sign_flip", {{"share", 0.4}})}, 10);
        const std::vector<float> bare = scaled.bare();
        std::size_t attackers = 0;
        for (std::uint32_t client = 0; client < 10; ++client) {
            const std::vector<float> update = scaled.update(client);
            CHECK((update != bare) == (flipped.update(client) != bare));
            if (update == bare) continue;
            ++attackers;
            for (std::size_t i = 0; i < update.size(); ++i)
                CHECK(std::abs(static_cast<double>(update[i]) - 10.0 * static_cast<double>(bare[i])) < 2e-6);
        }
        CHECK(attackers == 4);
    }

    TEST_CASE("OtherSeedsHaveOtherAttackers") {
        Trained attacked({upload_step("sign_flip", {{"share", 0.5}})}, 100);
        const auto attackers = [&](std::uint64_t seed) {
            attacked.plan.sampling_seed = seed;
            std::vector<bool> who;
            for (std::uint32_t client = 0; client < 100; ++client) who.push_back(attacked.update(client) != attacked.bare());
            return who;
        };
        CHECK(attackers(1) == attackers(1));
        CHECK(attackers(1) != attackers(2));
    }

    TEST_CASE("RandomUpdateKnowsNothingOfWhatWasTrained") {
        Trained attacked({upload_step("random_update", {{"share", 1.0}, {"std", 0.5}})});
        const std::vector<float> update = attacked.update();
        CHECK(norm_of(update) == doctest::Approx(0.5 * std::sqrt(3005.0)).epsilon(0.05));
        for (float& value : attacked.local) value += 1.0F;
        CHECK(attacked.update() == update);
    }
}
