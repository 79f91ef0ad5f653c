#include "clients/engine/batch_tensors.h"

#include "aggregation/base/error.h"
#include "aggregation/memory/cuda_driver.h"
#include "clients/data/formats/glyphs.h"
#include "clients/data/partitions/schemes.h"
#include "clients/data/shared_dataset.h"
#include "tests/aggregation/spans.h"
#include "tests/support/skip.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <numeric>

using namespace fedhive;
using namespace fedhive::clients;
using aggregation::MemorySpace;

namespace {

const Normalization kNormalization{{0.1307}, {0.3081}};

bool same(const at::Tensor& a, const at::Tensor& b) { return at::equal(a.cpu(), b.cpu()); }

}  // namespace

TEST_SUITE("BatchTensors") {
    TEST_CASE("BatchesOnTheHostDoNotDependOnWhatWasExpected") {
        const Dataset glyphs = draw_glyphs(20, 5, 1);
        const ExamplesView train{glyphs.train.shape, glyphs.train.values, glyphs.train.labels};
        BatchTensors batches(train.shape, kNormalization, at::kCPU);
        const std::vector<std::uint32_t> order{7, 3, 11, 19};
        const auto plain = batches.gather(train, {order});
        const at::Tensor examples = plain.examples.clone(), labels = plain.targets.clone();
        const RowBatch begun{std::span(order).first(1), {}, std::span(order).subspan(1)};
        CHECK(batches.expect(train, begun));
        const RowBatch going_on{std::span(order).subspan(1, 2), {}, std::span(order).subspan(3)};
        CHECK_FALSE(batches.expect(train, going_on));
        const auto part = batches.gather(train, going_on);
        CHECK(same(part.examples, examples.narrow(0, 1, 2)));
        CHECK(same(part.targets, labels.narrow(0, 1, 2)));
        CHECK_THROWS_AS(batches.follow(train, 4, nullptr), Fault);
    }

    TEST_CASE("BatchOfAnySizeHasItsOwnExamplesThoughTensorsAreUsedAgainAndGrow") {
        const Dataset glyphs = draw_glyphs(20, 5, 1);
        const ExamplesView train{glyphs.train.shape, glyphs.train.values, glyphs.train.labels};
        const std::vector<std::uint32_t> order{7, 3, 11, 19, 0, 5, 2, 8};
        BatchTensors batches(train.shape, kNormalization, at::kCPU);
        std::size_t first = 0;
        for (const std::size_t size : {3U, 5U, 3U, 8U, 3U, 5U}) {
            const auto part = std::span(order).subspan(first++ % (order.size() - size + 1), size);
            const auto batch = batches.gather(train, {part});
            BatchTensors fresh(train.shape, kNormalization, at::kCPU);
            const auto expected = fresh.gather(train, {part});
            CHECK(same(batch.examples, expected.examples));
            CHECK(same(batch.targets, expected.targets));
        }
    }

    TEST_CASE("Gpu: BatchesGatheredOnTheDeviceHaveTheBitsOfTheHost") {
        if (const std::string reason = aggregation::testing::no_gpu_reason(); !reason.empty()) FEDHIVE_SKIP(reason);
        if (!at::hasCUDA()) FEDHIVE_SKIP("this LibTorch has no CUDA");
        SharedDataset dataset = SharedDataset::create(draw_glyphs(200, 30, 1), partition_contiguous(200, 4));
        dataset.upload(aggregation::cuda_driver());
        const at::Device device(at::kCUDA, 0);
        BatchTensors on_host(dataset.map().shape, kNormalization, at::kCPU);
        BatchTensors on_device(dataset.map().shape, kNormalization, device);
        std::vector<std::uint32_t> order(150);
        std::iota(order.rbegin(), order.rend(), 0U);
        const auto check = [&](const RowBatch& batch, bool announces = true) {
            CHECK(on_device.expect(dataset.train(MemorySpace::Cuda), batch) == announces);
            const auto expected = on_host.gather(dataset.train(), batch);
            const auto gathered = on_device.gather(dataset.train(MemorySpace::Cuda), batch);
            CHECK(gathered.examples.is_cuda());
            CHECK(same(gathered.examples, expected.examples));
            CHECK(same(gathered.targets, expected.targets));
        };
        check({order});
        for (std::size_t first = 0; first < order.size(); first += 32) {
            const std::span<const std::uint32_t> from_here = std::span(order).subspan(first);
            const std::size_t size = std::min<std::size_t>(32, from_here.size());
            check({from_here.first(size), {}, from_here.subspan(size)}, first == 0);
        }
        const std::vector<std::uint32_t> others{5, 5, 199}, beyond{200};
        check({others});
        check({std::span(order).first(10)});  // no longer in device memory
        CHECK_THROWS_WITH_AS(on_device.expect(dataset.train(MemorySpace::Cuda), {beyond}),
                             doctest::Contains("example 200 of 200"), Fault);
    }
}
