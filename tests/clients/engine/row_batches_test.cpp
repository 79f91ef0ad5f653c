#include "clients/engine/row_batches.h"

#include "aggregation/base/error.h"
#include "clients/data/formats/glyphs.h"
#include "clients/data/partitions/schemes.h"
#include "clients/data/shared_dataset.h"
#include "tests/aggregation/spans.h"
#include "tests/support/skip.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::clients;
using aggregation::MemorySpace;

namespace {

const Normalization kRowNormalization{{0.1307}, {0.3081}};
const std::vector<std::uint32_t> kFirst{7, 3, 11}, kThird{19, 2};
const std::vector<std::vector<std::uint32_t>> kFilledUp{{7, 3, 11, 7}, {0, 0, 0, 0}, {19, 2, 19, 19}};

SharedDataset glyph_dataset() { return SharedDataset::create(draw_glyphs(20, 5, 1), partition_contiguous(20, 4)); }

/// Rows of three, none and two examples, padded to four each.
void check_filled_up(const RowBatches& batches, const ExamplesView& on_host) {
    BatchTensors one(on_host.shape, kRowNormalization, at::kCPU);
    REQUIRE(batches.examples.sizes() == at::IntArrayRef({3, 4, 1, 28, 28}));
    REQUIRE(batches.targets.sizes() == at::IntArrayRef({3, 4}));
    for (std::int64_t row = 0; row < 3; ++row) {
        const auto expected = one.gather(on_host, {kFilledUp[static_cast<std::size_t>(row)]});
        CHECK(at::equal(batches.examples[row].cpu(), expected.examples));
        CHECK(at::equal(batches.targets[row].cpu(), expected.targets));
    }
    const float third = 1.0F / 3.0F;
    CHECK(at::equal(batches.weights.cpu(),
                    at::tensor({third, third, third, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F, 0.5F, 0.5F, 0.0F, 0.0F}).view({3, 4})));
    CHECK(at::equal(batches.counts.cpu(), at::tensor({3.0F, 0.0F, 2.0F})));
}

}  // namespace

TEST_SUITE("RowBatches") {
    TEST_CASE("RowsAreFilledUpAtWeightZeroWhateverCameBefore") {
        const SharedDataset dataset = glyph_dataset();
        RowBatches batches(dataset.train(), kRowNormalization, at::kCPU);
        const std::vector<RowBatch> rows{{kFirst}, {}, {kThird}}, others{{kThird}, {kFirst}};
        for (const bool large_before : {false, true}) {
            if (large_before) {
                batches.list(others, 9);
                batches.gather();
                CHECK(batches.examples.size(1) == 9);
            }
            batches.list(rows, 4);
            batches.gather();
            check_filled_up(batches, dataset.train());
        }
    }

    TEST_CASE("MemoryStaysWhereItIsUpToTheReservedSize") {
        const SharedDataset dataset = glyph_dataset();
        RowBatches batches(dataset.train(), kRowNormalization, at::kCPU);
        batches.reserve(3, 4);
        const std::vector<RowBatch> rows{{kFirst}, {}, {kThird}};
        std::vector<void*> places;
        for (const std::size_t used : {1U, 3U, 1U}) {
            batches.list(std::span(rows).first(used), 4);
            batches.gather();
            if (used == 1)
                for (const at::Tensor& one : {batches.examples, batches.targets, batches.weights, batches.counts})
                    places.push_back(one.data_ptr());
        }
        CHECK(std::vector(places.begin(), places.begin() + 4) == std::vector(places.begin() + 4, places.end()));
    }

    TEST_CASE("ListsThatCannotBeGatheredAreAFault") {
        const SharedDataset dataset = glyph_dataset();
        RowBatches batches(dataset.train(), kRowNormalization, at::kCPU);
        const std::vector<std::uint32_t> outside{20};
        CHECK_THROWS_WITH_AS(batches.list(std::vector<RowBatch>{{kFirst}}, 2),
                             doctest::Contains("a batch of 3 is larger than was said, 2"), Fault);
        CHECK_THROWS_WITH_AS(batches.list(std::vector<RowBatch>{{outside}}, 2), doctest::Contains("example 20 of 20"), Fault);
        CHECK_THROWS_WITH_AS(RowBatches(dataset.train(), kRowNormalization, at::Device(at::kCUDA, 0)),
                             doctest::Contains("not where the model is"), Fault);
    }

    TEST_CASE("Gpu: RowsGatheredOnTheDeviceHaveTheBitsOfTheHost") {
        if (const std::string reason = aggregation::testing::no_gpu_reason(); !reason.empty()) FEDHIVE_SKIP(reason);
        if (!at::hasCUDA()) FEDHIVE_SKIP("this LibTorch has no CUDA");
        SharedDataset dataset = glyph_dataset();
        dataset.upload(aggregation::cuda_driver());
        RowBatches batches(dataset.train(MemorySpace::Cuda), kRowNormalization, at::Device(at::kCUDA, 0));
        const std::vector<RowBatch> rows{{kFirst}, {}, {kThird}}, others{{kThird}, {kFirst}, {kFirst}};
        // Many lists in transfer at once: none may be overwritten before it was copied.
        std::vector<at::Tensor> kept;
        for (int i = 0; i < 200; ++i) {
            batches.list(i % 2 == 0 ? rows : others, 4);
            batches.gather();
            kept.push_back(batches.counts.clone());
        }
        for (std::size_t i = 0; i < kept.size(); ++i) CHECK(kept[i][0].item<float>() == (i % 2 == 0 ? 3.0F : 2.0F));
        batches.list(rows, 4);
        batches.gather();
        check_filled_up(batches, dataset.train());
    }
}
