// Random lists of layers by LibTorch in double, against the direct engine and against the reference that
// programs without LibTorch use.
#include "aggregation/base/random.h"
#include "clients/engine/losses.h"
#include "clients/models/classifier.h"
#include "clients/trainers/engine.h"
#include "tests/support/drawn_lists/comparison.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/tensor.h>
#include <doctest/doctest.h>

#include <algorithm>

using namespace fedhive;
using namespace fedhive::clients;

namespace {

at::Tensor in_double(const float* values, at::IntArrayRef shape) {
    return at::from_blob(const_cast<float*>(values), shape, at::kFloat).to(at::kDouble);
}

/// Loss and gradient, [P], of a batch.
struct ByLibtorch {
    double loss = 0.0;
    std::vector<double> gradient;
};

ByLibtorch by_libtorch(const testing::DrawnStep& step, const aggregation::Layout& layout) {
    Classifier model(step.spec);
    const std::vector<at::Tensor*>& places = model.tensors();
    for (std::size_t i = 0; i < places.size(); ++i) {
        const aggregation::LayoutEntry& entry = layout.entries()[i];
        *places[i] = in_double(step.parameters.data() + entry.offset, entry.shape)
                         .set_requires_grad(entry.kind == aggregation::TensorKind::Parameter);
    }
    const auto size = static_cast<std::int64_t>(step.size);
    const ExampleShape& input = step.spec.input;
    const at::Tensor answers =
        model.forward(in_double(step.examples.data(), {size, input.channels, input.height, input.width}));
    const at::Tensor targets = step.numbers.empty() ? at::tensor(step.labels) : in_double(step.numbers.data(), answers.sizes());
    const at::Tensor loss = mean_loss(answers, targets, step.spec.target).mean;
    loss.backward();
    ByLibtorch found{loss.item<double>(), std::vector<double>(layout.num_floats())};
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (!places[i]->requires_grad()) continue;
        const at::Tensor gradient = places[i]->grad().contiguous();
        std::copy_n(gradient.const_data_ptr<double>(), gradient.numel(),
                    found.gradient.begin() + static_cast<std::ptrdiff_t>(layout.entries()[i].offset));
    }
    return found;
}

}  // namespace

TEST_SUITE("DrawnLists") {
    TEST_CASE("StepsOfTheDirectEngineAndOfTheReferenceAreLibTorchsInDouble") {
        prepare_libtorch(1);
        double worst = 0.0, worst_of_reference = 0.0;
        int lists = 0;
        for (std::uint64_t seed = 0; seed < 400; ++seed) {
            Stream stream(seed, Purpose::Sampling);
            const testing::Choose choose = [&](std::uint64_t below) { return stream.below(below); };
            // Without dropout, whose random numbers LibTorch draws differently.
            const ModelSpec spec = testing::draw_model(choose, false);
            const testing::DrawnStep step(spec, testing::draw_batch_size(choose), seed);
            CAPTURE(seed);
            CAPTURE(testing::text_of(spec));
            direct::Network network(spec);
            testing::Reference reference(spec);
            testing::Reference::Result expected = reference.run(step.parameters.data(), step.batch(), std::nullopt);
            if (expected.edge < 1e-4) continue;
            const ByLibtorch libtorch = by_libtorch(step, network.layout());
            const double of_reference = testing::difference(network.layout(), libtorch.gradient, expected);
            CHECK(of_reference < 1e-9);
            CHECK(expected.loss == doctest::Approx(libtorch.loss).epsilon(1e-9));
            expected.gradient = libtorch.gradient;
            direct::Floats gradient(network.layout().num_trainable());
            const double loss = network.train(step.parameters.data(), gradient.data(), step.batch(), step.dropout_key);
            const std::vector<double> found(gradient.begin(), gradient.end());
            const double of_engine = testing::difference(network.layout(), found, expected);
            CHECK(of_engine < testing::kMostInFloat);
            CHECK(loss == doctest::Approx(libtorch.loss).epsilon(testing::kMostInFloat));
            worst = std::max(worst, of_engine);
            worst_of_reference = std::max(worst_of_reference, of_reference);
            ++lists;
        }
        MESSAGE(lists << " lists; the largest difference of the direct engine is " << worst << ", of the reference "
                      << worst_of_reference);
    }
}
