// The arithmetic of a thread block, by one host thread, against the host's engine: gradients, steps, a client's epochs,
// evaluations; also the placement in memory. The kernels: device_kernels_test.cpp.
#include "aggregation/base/error.h"
#include "aggregation/math/client_optimizer.h"
#include "clients/exported/shared_model_file.h"
#include "tests/clients/direct/device_run.h"
#include "tests/clients/direct/networks.h"
#include "tests/support/exported_file.h"
#include "tests/support/proximal_pass.h"
#include "tests/support/statistics.h"
#include "tests/support/sums_by_name.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace fedhive;
using namespace fedhive::clients;
using fedhive::testing::DeviceRun;
using fedhive::testing::distance;
using fedhive::testing::Floats;
using fedhive::testing::kThread;
using fedhive::testing::norm_of;

namespace {

namespace device = direct::device;

constexpr device::BlockStep kStep{5, 7, 99};

/// A network of torch.export as layers: attention with three products in place of one.
ModelSpec split_attention() {
    static const exported::SharedModelFile file(fedhive::testing::golden_file("token_vit.pt2"));
    ModelSpec spec;
    spec.name.set(kExportedModel);
    spec.input = {6, 1, 1, 11};
    spec.num_classes = 4;
    spec.exported = file.handle();
    spec.as_layers = true;
    return spec;
}

std::vector<ModelSpec> trained() {
    std::vector<ModelSpec> all = fedhive::testing::block_networks();
    // The others end in batch norm, whose gradient nearly cancels; DrawnLists compares them with a reference.
    for (const std::size_t i : {0U, 1U}) all.push_back(fedhive::testing::batch_norm_networks()[i]);
    for (const ModelSpec& spec : fedhive::testing::low_rank_networks()) all.push_back(spec);
    for (const ModelSpec& spec : fedhive::testing::sequence_networks()) all.push_back(spec);
    all.push_back(split_attention());
    for (const char* name : {"lr", "mlp"}) all.push_back(fedhive::testing::small_model(name, fedhive::testing::kInput, 5));
    for (const bool dropout : {false, true})
        all.push_back(fedhive::testing::small_model("mnist_cnn", {1, 28, 28}, 10, dropout));
    return all;
}

/// A client's steps on the host: two epochs of 16, 16 and 7 examples.
std::vector<device::BlockStep> epochs() { return {{0, 16, 1}, {16, 16, 2}, {32, 7, 3}, {1, 16, 4}, {17, 16, 5}, {33, 7, 6}}; }

}  // namespace

TEST_SUITE("DeviceArithmetic") {
    TEST_CASE("GradientOfEveryLayerIsTheHostEngines") {
        for (const ModelSpec& spec : trained()) {
            DeviceRun run(spec, 3);
            const double loss = device::compute_gradient(kThread, run.network, run.work(), run.from(), kStep);
            Floats expected(run.network.trainable, 0.0F), moved = run.global;
            const double expected_loss =
                run.host.train(run.global.data(), expected.data(), run.batch(kStep), kStep.dropout_key, moved.data());
            for (std::size_t i = 0; i < moved.size(); ++i) CHECK(run.local[i] == doctest::Approx(moved[i]).epsilon(1e-6));
            CHECK(loss == doctest::Approx(expected_loss).epsilon(1e-6));
            CHECK(distance(run.gradient, expected) < 1e-5);
            for (const auto& entry : run.host.layout().entries()) {
                CAPTURE(entry.name);
                if (entry.kind == aggregation::TensorKind::Buffer) continue;
                const auto part = [&](const Floats& of) {
                    return Floats(of.begin() + static_cast<std::ptrdiff_t>(entry.offset),
                                  of.begin() + static_cast<std::ptrdiff_t>(entry.offset + entry.size));
                };
                // Gradients of tensors near 0, such as a bias before a norm, are compared relative to
                // the whole gradient's norm.
                Floats off = part(run.gradient);
                for (std::size_t i = 0; i < off.size(); ++i) off[i] -= expected[entry.offset + i];
                CHECK(norm_of(off) <= 1e-5 * std::max(norm_of(part(expected)), 1e-2 * norm_of(expected)));
            }
        }
    }

    TEST_CASE("BitsDoNotDependOnHowManyRowsHaveRoom") {
        for (const ModelSpec& spec : trained()) {
            DeviceRun one(spec, 1), three(spec, 3), all(spec, 16);
            const double loss = device::compute_gradient(kThread, one.network, one.work(), one.from(), kStep);
            CHECK(device::compute_gradient(kThread, three.network, three.work(), three.from(), kStep) == loss);
            CHECK(device::compute_gradient(kThread, all.network, all.work(), all.from(), kStep) == loss);
            CHECK(three.gradient == one.gradient);
            CHECK(all.gradient == one.gradient);
        }
    }

    TEST_CASE("ClientsEpochsAreTheHostEngines") {
        const aggregation::SgdOptions kSgd[] = {
            {0.05F, 0.0F, 0.0F, false}, {0.05F, 0.5F, 0.0F, false}, {0.05F, 0.5F, 0.125F, true}};
        for (const ModelSpec& spec : trained())
            for (const aggregation::SgdOptions& sgd : kSgd)
                for (const float mu : {0.0F, 0.5F}) {
                    if (spec.name.get() == "mnist_cnn" && mu == 0.0F) continue;                  // it takes long
                    if (fedhive::testing::kFewDraws && (mu == 0.0F || !sgd.nesterov)) continue;  // one setting covers it
                    DeviceRun run(spec, 4);
                    const std::vector<device::BlockStep> steps = epochs();
                    device::BlockDescent descent{sgd.lr, sgd.momentum, sgd.weight_decay, sgd.nesterov};
                    const auto host = aggregation::MemorySpace::Host;
                    const auto pass = testing::proximal_pass(mu, {run.global.data(), run.global.size(), host});
                    const aggregation::formulas::ElementRange all{0, run.network.trainable};
                    if (mu != 0.0F) {
                        descent.formula = &pass;
                        descent.ranges = &all;
                        descent.num_ranges = 1;
                    }
                    const double loss = device::train(kThread, run.network, run.work(), run.from(), run.global.data(),
                                                      steps.data(), static_cast<std::uint32_t>(steps.size()), descent);
                    Floats local = run.global, gradient(run.network.trainable);
                    aggregation::ClientOptimizer optimizer(sgd, gradient.size(), host);
                    optimizer.begin();
                    double expected_loss = 0.0;
                    const aggregation::ParamSpan trainable{local.data(), gradient.size(), host},
                        along{gradient.data(), gradient.size(), host};
                    for (const device::BlockStep& step : steps) {
                        const double mean =
                            run.host.train(local.data(), gradient.data(), run.batch(step), step.dropout_key, local.data());
                        expected_loss += mean * step.size;
                        for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += mu * (local[i] - run.global[i]);
                        optimizer.begin_step();
                        optimizer.step(trainable, along);
                    }
                    CHECK(loss == doctest::Approx(expected_loss).epsilon(1e-5));
                    CHECK(distance(run.local, local) < 2e-5);
                }
    }

    TEST_CASE("LossIsThatOfTheHostEngine") {
        const std::vector<float> weights{1.0F, 0.5F, 2.0F, 0.25F, 3.0F, 1.0F, 0.75F, 1.5F, 0.1F, 2.5F};
        const LossTerms losses[] = {{.smoothing = 0.1F},
                                    {.smoothing = 0.2F, .class_weights = weights.data()},
                                    {.kind = LossKind::Focal, .gamma = 2.0F, .class_weights = weights.data()}};
        for (const ModelSpec& spec : trained()) {
            if (spec.target.kind == TargetKind::Numbers) continue;
            for (const LossTerms& loss : losses) {
                DeviceRun run(spec, 40);
                REQUIRE(run.network.outputs <= weights.size());
                const device::BlockStep step{0, 8, 77};
                Floats plain(run.gradient.size()), expected(run.gradient.size());
                const clients::direct::Batch batch = run.batch(step);
                run.host.train(run.global.data(), plain.data(), batch, step.dropout_key);
                run.host.set_loss(loss);
                const double wanted = run.host.train(run.global.data(), expected.data(), batch, step.dropout_key);
                run.network.loss = loss;
                run.local = run.global;
                const double found = device::compute_gradient(kThread, run.network, run.work(), run.from(), step);
                CHECK(found == doctest::Approx(wanted).epsilon(1e-5));
                CHECK(distance(run.gradient, expected) < 2e-5);
                CHECK(distance(plain, expected) > 1e-3);
            }
        }
    }

    TEST_CASE("EvaluationIsTheHostEngines") {
        for (const ModelSpec& spec : trained()) {
            DeviceRun run(spec, 40);
            device::evaluate(kThread, run.network, run.work(), run.global.data(), run.from(), 0, 40);
            EvaluationSums expected = fedhive::testing::empty_sums(spec.target.kind), found = expected;
            run.host.evaluate(run.global.data(), run.batch({0, 40, 0}), expected);
            for (const device::RowOutcome& row : run.outcomes) {
                found.add_loss(row.loss);
                found.add(row.outcome);
            }
            CHECK(found.loss() == doctest::Approx(expected.loss()).epsilon(1e-6));
            for (std::size_t i = 1; i < expected.values().size(); ++i)
                CHECK(found.values()[i] == doctest::Approx(expected.values()[i]).epsilon(1e-6));
        }
    }

    TEST_CASE("ABatchOfOneValueForEachChannelUsesRunningStatisticsAndLeavesThem") {
        LayerList rows;
        rows.add("flatten").add("linear", {4}).add("batch_norm").add("tanh").add("linear");
        DeviceRun run(fedhive::testing::listed_model(rows, fedhive::testing::kInput, 5), 1);
        const device::BlockStep one{3, 1, 99};
        device::compute_gradient(kThread, run.network, run.work(), run.from(), one);
        Floats expected(run.network.trainable, 0.0F);
        run.host.train(run.global.data(), expected.data(), run.batch(one), one.dropout_key);
        CHECK(distance(run.gradient, expected) < 1e-5);
        CHECK(run.local == run.global);
    }

    TEST_CASE("NotANumberIsNotLost") {
        DeviceRun run(fedhive::testing::small_model("mnist_cnn", {1, 28, 28}, 10), 4);
        run.local.assign(run.local.size(), NAN);
        CHECK(std::isnan(device::compute_gradient(kThread, run.network, run.work(), run.from(), kStep)));
        CHECK(std::isnan(run.gradient.front()));
    }
}

TEST_SUITE("DevicePlacement") {
    TEST_CASE("SmallModelsLieInSharedMemoryAsAWholeAndLargerOnesByParts") {
        constexpr std::uint32_t kHopper = 232448;
        const auto lr = device::make_plan(fedhive::testing::small_model("lr", {1, 28, 28}, 10)).network;
        const auto all = device::place(lr, 32, true, kHopper);
        CHECK(all.parameters);
        CHECK(all.gradient);
        CHECK(all.velocity);
        CHECK(all.group == 32);
        CHECK(all.bytes <= kHopper);
        CHECK_FALSE(device::place(lr, 32, false, kHopper).velocity);  // none is asked for
        // 7,850 parameters, each tensor in whole cache lines, and rows of 795 floats: 31,424 bytes and 3,212 each.
        CHECK(all.bytes == 3 * 31424 + 32 * (795 * 4 + 32));
        const auto some = device::place(lr, 32, true, 31424 + 4 * 3212 + 100);
        CHECK(some.parameters);
        CHECK_FALSE(some.gradient);
        CHECK(some.group == 4);
        CHECK(device::place(lr, 32, true, 2 * 3212).group == 2);
        CHECK(device::place(lr, 32, true, 3211).group == 0);

        const auto wide = device::make_plan(named_model("mlp", {1, 28, 28}, 10)).network;
        const auto outside = device::place(wide, 32, true, kHopper);
        CHECK_FALSE(outside.parameters);
        CHECK(outside.group == 32);
    }

    TEST_CASE("WhatNoBlockCanTrainIsToldWithItsBytes") {
        const ModelSpec lr = fedhive::testing::small_model("lr", {1, 28, 28}, 10);
        CHECK(device::too_large(lr, 3212).empty());
        CHECK(device::too_large(lr, 3211).ends_with(": lr needs 3212 bytes, but this GPU has 3211"));
        LayerList unknown;
        unknown.add("max_pool", {2, 1}).add("flatten").add("linear");
        CHECK_THROWS_WITH_AS(device::make_plan(fedhive::testing::listed_model(unknown)),
                             doctest::Contains("the direct engine has no pools whose windows overlap"), ConfigError);
    }

    TEST_CASE("WholeBatchesLieInSharedMemoryOrOutside") {
        device::BlockNetwork network = device::make_plan(fedhive::testing::batch_norm_networks()[0]).network;
        REQUIRE(network.whole_batches);
        const std::uint32_t row = device::least_bytes(network), parameters = (network.num_floats + 3) / 4 * 16;
        const auto within = device::place(network, 5, false, 5 * row);
        CHECK(within.rows);
        CHECK(within.group == 5);
        CHECK_FALSE(within.parameters);
        CHECK(device::floats_of_rows(network, within) == 0);
        const auto outside = device::place(network, 6, false, 5 * row + parameters);
        CHECK_FALSE(outside.rows);
        CHECK(outside.group == 6);
        CHECK(outside.parameters);
        CHECK(outside.bytes <= 5 * row + parameters);
        CHECK(device::floats_of_rows(network, outside) >= std::size_t{6} * row / 4);
        CHECK(device::floats_of_rows(network, outside) % 4 == 0);
        network.whole_batches = false;
        CHECK(device::place(network, 6, false, 5 * row).rows);
    }
}
