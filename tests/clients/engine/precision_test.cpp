// Local steps in lower precision, on the CPU.
#include "clients/data/formats/synthetic.h"
#include "clients/engine/libtorch_step.h"
#include "clients/engine/precision_scope.h"
#include "clients/trainers/engine.h"
#include "clients/visit/local_training.h"
#include "tests/clients/visit/batched_clients.h"
#include "tests/support/evaluated.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <doctest/doctest.h>

#include <numeric>

using namespace fedhive;
using namespace fedhive::clients;
using aggregation::MemorySpace;

namespace {

struct Trained {
    ClientResult result;
    double loss_before = 0.0, loss_after = 0.0;  // by evaluation
};

/// Trains one client on an easy data set.
Trained train(Precision precision) {
    const Dataset dataset = draw_synthetic({200, 20, 4, 12, 2.0}, 7);
    const ExamplesView examples{dataset.train.shape, dataset.train.values, dataset.train.labels};
    const ModelSpec spec = named_model("mlp", dataset.train.shape, dataset.num_classes, {{"hidden", 16}});
    FlatModel model(spec, MemorySpace::Host);
    LibtorchStep step(model, examples, {}, aggregation::SgdOptions{0.1F, 0.5F, 0.0F, false}, precision);
    LibtorchEvaluation evaluation(model, examples.shape, {});
    std::vector<float> global(model.layout().num_floats()), update(global.size());
    std::vector<std::uint32_t> shard(200);
    std::iota(shard.begin(), shard.end(), 0U);
    initial_parameters(spec, model.layout(), 3, global);
    Trained trained;
    trained.loss_before = fedhive::testing::evaluated_range(evaluation, global, examples, 0, 200).loss_sum;
    trained.result = train_client(step, {5, 10, 16}, {}, 0, 0, shard, global, update);
    for (std::size_t i = 0; i < global.size(); ++i) global[i] += update[i];
    trained.loss_after = fedhive::testing::evaluated_range(evaluation, global, examples, 0, 200).loss_sum;
    return trained;
}

}  // namespace

TEST_SUITE("Precision") {
    TEST_CASE("Bf16OnTheCpuTrainsWithBitsOfItsOwn") {
        const Trained f32 = train(Precision::F32), bf16 = train(Precision::BF16);
        CHECK(bf16.result.update_hash != f32.result.update_hash);
        CHECK(bf16.result.update_hash == train(Precision::BF16).result.update_hash);
        CHECK(bf16.loss_before == f32.loss_before);  // evaluation is in f32
        CHECK(bf16.loss_after < 0.96 * bf16.loss_before);
        CHECK(bf16.loss_after == doctest::Approx(f32.loss_after).epsilon(0.01));
        CHECK(bf16.result.update_norm == doctest::Approx(f32.result.update_norm).epsilon(0.05));
        CHECK(bf16.result.train_loss == doctest::Approx(f32.result.train_loss).epsilon(0.05));
    }

    TEST_CASE("Tf32OnTheCpuIsF32") {
        CHECK(train(Precision::TF32).result.update_hash == train(Precision::F32).result.update_hash);
    }

    TEST_CASE("RowsAreComputedInTheirPrecisionAndLeaveF32Behind") {
        testing::Clients all("lr");
        const auto operations_with_tf32 = [&](Precision precision) {
            VmapStep step(all.spec, 2, MemorySpace::Host, all.train, {}, {}, {}, precision);
            static std::size_t with = 0;
            with = 0;
            const at::CallbackHandle seen = at::addThreadLocalCallback(
                at::RecordFunctionCallback([](const at::RecordFunction&) -> std::unique_ptr<at::ObserverContext> {
                    if (at::globalContext().allowTF32CuBLAS() && at::globalContext().allowTF32CuDNN()) ++with;
                    return nullptr;
                }));
            const auto clients = all.clients({3, 2});
            testing::train_rows(step, all.plan, RoundRate{}, all.round, clients, all.global);
            at::removeCallback(seen);
            CHECK_FALSE(at::globalContext().allowTF32CuBLAS());
            return with;
        };
        CHECK(operations_with_tf32(Precision::TF32) > 10);
        CHECK(operations_with_tf32(Precision::F32) == 0);
    }

    TEST_CASE("ScopesLeaveF32Behind") {
        {
            const Tf32Scope tf32(Precision::TF32);
            const AutocastScope autocast(Precision::BF16, at::kCPU);
            CHECK(at::globalContext().allowTF32CuBLAS());
            CHECK(at::autocast::is_autocast_enabled(at::kCPU));
        }
        CHECK_FALSE(at::globalContext().allowTF32CuBLAS());
        CHECK_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
    }
}
