// Random lists of layers, each kind in first and last position and after each other kind: steps against the reference in
// double, and against other kernel sets.
#include "aggregation/base/random.h"
#include "clients/models/layer_kind.h"
#include "tests/clients/direct/networks.h"
#include "tests/support/drawn_lists/comparison.h"
#include "tests/support/statistics.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

using namespace fedhive;
using fedhive::testing::kModel;
using fedhive::testing::kResidual;

namespace {

constexpr std::uint64_t kLists = 3000;

testing::DrawnStep draw_step(std::uint64_t seed) {
    Stream stream(seed, Purpose::Sampling);
    const testing::Choose choose = [&](std::uint64_t below) { return stream.below(below); };
    const clients::ModelSpec spec = testing::draw_model(choose, true);
    return {spec, testing::draw_batch_size(choose), seed};
}

using Kinds = std::set<std::string>;
const Kinds kOfImages{"conv2d", "max_pool", "avg_pool", "group_norm", "dropout2d", "channel_shuffle"};
const Kinds kOfRows{"linear", "layer_norm"};  // both take sequences, too
const Kinds kOfSequences{"position", "attention", "last_position", "mean", "lstm", "gru"};
const Kinds kMakesSequences{"embedding", "position", "attention"};
const Kinds kMakesNoSequence{"flatten", "batch_norm", "last_position", "mean"};
const Kinds kMakesRows{"flatten",       "linear", "layer_norm", "position", "attention",
                       "last_position", "mean",   "lstm",       "gru"};  // and sequences

/// Whether the shapes of examples, layers and outputs allow `behind` directly after `before`.
bool may_follow(const std::string& before, const std::string& behind) {
    const auto is_end = [](const std::string& name) { return name == kModel || name == kResidual; };
    if (is_end(before) && is_end(behind)) return false;
    if (before == kModel) return !kOfRows.contains(behind) && !kOfSequences.contains(behind);
    if (behind == kModel) return !kOfImages.contains(before) && !kMakesSequences.contains(before);
    if (behind == "embedding") return false;
    if (before == kResidual && (behind == "last_position" || behind == "mean")) return false;  // it keeps no shape
    if (behind == kResidual) return before != "embedding" && before != "last_position" && before != "mean";
    if (kMakesSequences.contains(before)) return !kOfImages.contains(behind) && behind != "batch_norm";
    if (kOfSequences.contains(behind) && (kMakesNoSequence.contains(before) || kOfImages.contains(before))) return false;
    if (kMakesRows.contains(before) && kOfImages.contains(behind)) return false;
    return !kOfImages.contains(before) || !kOfRows.contains(behind);
}

}  // namespace

TEST_SUITE("DrawnLists") {
    TEST_CASE("StepsAndEvaluationsAreTheReferencesUpToRounding") {
        double worst = 0.0;
        std::size_t compared = 0, near_edge = 0;
        for (std::uint64_t seed = 0; seed < testing::draws(kLists); ++seed) {
            const testing::Comparison found = testing::compare(draw_step(seed));
            CHECK(found.fault == "");
            worst = std::max(worst, found.worst);
            (found.near_edge ? near_edge : compared) += 1;
        }
        CHECK(compared > 9 * near_edge);
        MESSAGE(compared << " lists, and " << near_edge << " too near an edge; the largest difference is " << worst);
    }

    TEST_CASE("NetworksWithNormsGroupsPoolsSequencesAndFactorsAreTheReferencesUpToRounding") {
        std::vector<clients::ModelSpec> all = testing::grouped_networks();
        for (const auto& more : {testing::batch_norm_networks(), testing::pool_networks(), testing::sequence_networks(),
                                 testing::low_rank_networks()})
            all.insert(all.end(), more.begin(), more.end());
        for (const clients::ModelSpec& spec : all) {
            CAPTURE(testing::text_of(spec));
            std::size_t compared = 0;
            for (std::uint64_t seed = 0; seed < 8; ++seed) {
                const testing::Comparison found = testing::compare({spec, 3, seed});
                CHECK(found.fault == "");
                compared += found.near_edge ? 0 : 1;
            }
            CHECK(compared > 0);
        }
    }

    TEST_CASE("WideConvolutionsThatUseMemoryInTurnAreTheReferencesUpToRounding") {
        const testing::Comparison found = testing::compare({testing::wide_convolutions(), 3, 0});
        CHECK(found.fault == "");
        CHECK_FALSE(found.near_edge);
    }

    TEST_CASE("EveryKindThatTheEngineHasStandsWhereverShapesAllowIt") {
        std::set<std::pair<std::string, std::string>> found;
        for (std::uint64_t seed = 0; seed < kLists; ++seed)
            for (const auto& pair : testing::neighbours_of(draw_step(seed).spec)) found.insert(pair);
        std::vector<std::string> all{kModel, kResidual};
        for (const clients::LayerSpec& kind : clients::layer_catalog()) all.push_back(kind.name);
        for (const std::string& before : all)
            for (const std::string& behind : all) {
                CAPTURE(before);
                CAPTURE(behind);
                CHECK(found.contains({before, behind}) == may_follow(before, behind));
            }
    }
}
