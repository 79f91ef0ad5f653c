// The recorded step against the eager one, on a GPU.
#include "clients/engine/recorded_step.h"
#include "clients/trainers/engine.h"

#include "aggregation/base/error.h"
#include "clients/data/formats/glyphs.h"
#include "clients/data/partitions/schemes.h"
#include "clients/data/shared_dataset.h"
#include "clients/engine/libtorch_step.h"
#include "clients/visit/local_step.h"
#include "clients/visit/local_training.h"
#include "tests/aggregation/spans.h"
#include "tests/clients/engine/gpu_training.h"
#include "tests/support/proximal.h"
#include "tests/support/skip.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cstring>
#include <numeric>

using namespace fedhive;
using namespace fedhive::clients;
using aggregation::MemorySpace;
using aggregation::SgdOptions;
using testing::no_training_on_gpu;

namespace {

struct StepSetting {
    bool dropout = false;
    SgdOptions optimizer{0.05F, 0.0F, 0.0F, false};
    float mu = 0.0F;
    Precision precision = Precision::F32;
};

/// Hashes of several clients trained in turn by the same step: their lengths differ, so last batches have several sizes, and
/// the first client comes again at the end.
std::vector<std::uint64_t> hashes(const StepSetting& setting, bool graph) {
    prepare_libtorch(1);
    SharedDataset dataset = SharedDataset::create(draw_glyphs(300, 10, 1), partition_contiguous(300, 3));
    dataset.upload(aggregation::cuda_driver());
    const ModelSpec spec = named_model("mnist_cnn", dataset.map().shape, 10, {{"dropout", setting.dropout}});
    FlatModel model(spec, MemorySpace::Cuda);
    LibtorchStep eager(model, dataset.train(MemorySpace::Cuda), {}, setting.optimizer, setting.precision);
    std::unique_ptr<TrainingStep> recorded;
    if (graph) recorded = make_recorded_step(eager, 16);
    aggregation::testing::Floats first(model.layout().num_floats(), 0.0F);
    initial_parameters(spec, model.layout(), 3, first);
    const aggregation::ParamBuffer global = aggregation::testing::upload(first, MemorySpace::Cuda);
    const aggregation::ParamBuffer update = aggregation::testing::poisoned(first.size(), MemorySpace::Cuda);
    testing::ProximalStep around(graph ? *recorded : eager, setting.mu, model.layout().num_trainable(), global);
    LocalStep& step = around.step;
    std::vector<std::uint64_t> result;
    for (const std::uint32_t size : {100U, 5U, 48U, 33U, 100U}) {
        std::vector<std::uint32_t> shard(size);
        std::iota(shard.begin(), shard.end(), 7U);
        const ClientResult one = train_client(step, {5, 2, 16}, {}, 1, size, shard, global, update);
        CHECK(one.finite == 1);
        result.push_back(one.update_hash);
        std::uint64_t loss = 0;
        std::memcpy(&loss, &one.train_loss, sizeof loss);
        result.push_back(loss);
    }
    CHECK(result[0] == result[8]);
    CHECK(result[1] == result[9]);
    return result;
}

}  // namespace

TEST_SUITE("RecordedStep") {
    TEST_CASE("RecordedStepOfABuildWithoutTrainingOnCudaIsAFault") {
#ifndef FEDHIVE_TORCH_CUDA
        const Dataset glyphs = draw_glyphs(10, 10, 1);
        const ModelSpec spec = named_model("lr", glyphs.train.shape, 10);
        FlatModel model(spec, MemorySpace::Host);
        LibtorchStep eager(model, {glyphs.train.shape, glyphs.train.values, glyphs.train.labels}, {}, {});
        CHECK_THROWS_WITH_AS(make_recorded_step(eager, 4), doctest::Contains("without training on CUDA"), Fault);
#endif
    }

    TEST_CASE("Gpu: RecordedAndEagerGiveTheSameBits") {
        if (const std::string reason = no_training_on_gpu(); !reason.empty()) FEDHIVE_SKIP(reason);
        for (const bool dropout : {false, true}) {
            CAPTURE(dropout);
            CHECK(hashes({.dropout = dropout}, true) == hashes({.dropout = dropout}, false));
            const StepSetting momentum{.dropout = dropout, .optimizer = {0.05F, 0.9F, 0.01F, true}};
            CHECK(hashes(momentum, true) == hashes(momentum, false));
            const StepSetting proximal{.dropout = dropout, .mu = 0.1F};
            CHECK(hashes(proximal, true) == hashes(proximal, false));
            CHECK(hashes(proximal, false) != hashes({.dropout = dropout}, false));
        }
    }

    TEST_CASE("Gpu: RecordedAndEagerGiveTheSameBitsInEveryPrecision") {
        if (const std::string reason = no_training_on_gpu(); !reason.empty()) FEDHIVE_SKIP(reason);
        for (const Precision precision : {Precision::TF32, Precision::BF16}) {
            const StepSetting setting{.dropout = true, .precision = precision};
            CHECK(hashes(setting, true) == hashes(setting, false));
        }
        CHECK(hashes({.precision = Precision::BF16}, false) != hashes({}, false));
    }

    TEST_CASE("Gpu: BatchThatNobodyAnnouncedGivesTheGradientOfTheEagerStep") {
        if (const std::string reason = no_training_on_gpu(); !reason.empty()) FEDHIVE_SKIP(reason);
        prepare_libtorch(1);
        SharedDataset dataset = SharedDataset::create(draw_glyphs(60, 10, 1), partition_contiguous(60, 3));
        dataset.upload(aggregation::cuda_driver());
        const ModelSpec spec = named_model("lr", dataset.map().shape, 10);
        FlatModel model(spec, MemorySpace::Cuda);
        LibtorchStep eager(model, dataset.train(MemorySpace::Cuda), {}, {});
        const auto recorded = make_recorded_step(eager, 8);
        FlatModel plain_model(spec, MemorySpace::Cuda);
        LibtorchStep plain(plain_model, dataset.train(MemorySpace::Cuda), {}, {});
        aggregation::testing::Floats first(model.layout().num_floats(), 0.0F);
        initial_parameters(spec, model.layout(), 3, first);
        const aggregation::ParamBuffer global = aggregation::testing::upload(first, MemorySpace::Cuda);
        ClientStart start;
        start.global = global;
        std::vector<std::uint32_t> order(40);
        std::iota(order.begin(), order.end(), 3U);
        recorded->begin(start);
        plain.begin(start);
        for (const std::size_t at : {0UL, 8UL, 24UL, 0UL}) {  // only the second batch is the one announced before
            const RowBatch batch{std::span(order).subspan(at, 8), {}, std::span(order).subspan(at + 8)};
            recorded->compute_gradients({&batch, 1});
            plain.compute_gradients({&batch, 1});
            CHECK(aggregation::testing::download(recorded->one_row()->gradient()) ==
                  aggregation::testing::download(plain.gradient()));
        }
        CHECK(recorded->loss_sum() == plain.loss_sum());
        CHECK_THROWS_AS(recorded->compute_gradient(std::span(order).first(9)), Fault);
    }
}
