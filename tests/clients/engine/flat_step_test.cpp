// The local step of the ideal GPU loop, run on the CPU: it must train correctly to be a valid measure.
#include "tests/bench/flat_step.h"
#include "clients/trainers/engine.h"

#include "aggregation/math/vector_ops.h"
#include "clients/engine/libtorch_step.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::clients;

namespace {

at::Tensor first_model(const ModelSpec& spec, const aggregation::Layout& layout) {
    std::vector<float> first(layout.num_floats());
    initial_parameters(spec, layout, 1, first);
    return at::from_blob(first.data(), {static_cast<std::int64_t>(first.size())}).clone();
}

}  // namespace

TEST_SUITE("FlatStep") {
    TEST_CASE("FlatStepMovesEveryTensorAlongItsGradient") {
        prepare_libtorch(1);
        at::manual_seed(1);
        const ModelSpec spec = named_model("mlp", {12, 1, 1}, 3, {{"hidden", 8}});
        const at::Tensor examples = at::randn({16, 12, 1, 1}), labels = at::randint(0, 3, {16}, at::kLong);
        for (const double momentum : {0.0, 0.5}) {
            CAPTURE(momentum);
            testing::FlatStep step(spec, aggregation::MemorySpace::Host, 0.1, momentum);
            const at::Tensor global = first_model(spec, step.layout());
            // Reference: the same by autograd, tensor by tensor.
            FlatModel model(spec, aggregation::MemorySpace::Host);
            const auto expected = at::from_blob(model.parameters().data, {global.numel()});
            expected.copy_(global);
            for (int round = 0; round < 2; ++round) {  // the second round starts like the first
                step.begin(global);
                expected.copy_(global);
                std::vector<at::Tensor> velocity;
                for (int i = 0; i < 3; ++i) {
                    step.step(examples, labels);
                    model.drop_gradient();
                    at::cross_entropy_loss(model.module().forward(examples), labels).backward();
                    std::size_t index = 0;
                    for (const at::Tensor* tensor : model.module().tensors()) {
                        if (i == 0) velocity.push_back(at::zeros_like(*tensor));
                        velocity[index].mul_(momentum).add_(tensor->grad());
                        tensor->detach().add_(velocity[index++], -0.1);
                    }
                }
                CHECK(at::allclose(step.parameters(), expected, 1e-5, 1e-6));
                for (const auto& entry : step.layout().entries()) {
                    const auto part = [&](const at::Tensor& all) {
                        return all.narrow(0, static_cast<std::int64_t>(entry.offset), static_cast<std::int64_t>(entry.size));
                    };
                    CHECK_FALSE(at::equal(part(step.parameters()), part(global)));
                }
            }
        }
    }

    TEST_CASE("EveryProcessThatTrainsGivesCublasTheSameRoom") {
        setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8", 1);
        prepare_libtorch(1);
        CHECK(std::string(getenv("CUBLAS_WORKSPACE_CONFIG")) == kCublasWorkspace);
    }
}
