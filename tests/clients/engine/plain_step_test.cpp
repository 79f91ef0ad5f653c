// The plain engine of programs without LibTorch, against LibTorch: equal gradients and losses up to rounding.
#include "clients/trainers/engine.h"
#include "tests/support/plain_engine/steps.h"

#include "clients/data/formats/synthetic.h"
#include "clients/engine/libtorch_step.h"
#include "tests/support/evaluated.h"
#include "tests/support/small_model.h"

#include <doctest/doctest.h>

#include <numeric>

using namespace fedhive;
using namespace fedhive::clients;

TEST_SUITE("PlainStep") {
    TEST_CASE("GradientsLossesAndStepsAreLibTorchsUpToRounding") {
        const Dataset dataset = draw_synthetic({100, 60, 5, 12, 2.0}, 7);
        const ExamplesView train{dataset.train.shape, dataset.train.values, dataset.train.labels};
        const ExamplesView test{dataset.test.shape, dataset.test.values, dataset.test.labels};
        const aggregation::SgdOptions optimizer{0.2F, 0.9F, 0.01F, false};
        std::vector<std::uint32_t> batch(40);
        std::iota(batch.begin(), batch.end(), 30U);
        for (const char* name : {"lr", "mlp"}) {
            CAPTURE(name);
            const ModelSpec spec = testing::small_model(name, dataset.train.shape, dataset.num_classes);
            FlatModel model(spec, aggregation::MemorySpace::Host);
            testing::Network network(spec);
            REQUIRE(network.layout().fingerprint() == model.layout().fingerprint());
            std::vector<float> global(model.layout().num_floats());
            initial_parameters(spec, model.layout(), 3, global);
            const Normalization normalization{{0.4}, {0.25}};
            const testing::PlainExamples plain_train{train, BatchGather(train.shape, normalization)};
            const testing::PlainExamples plain_test{test, BatchGather(test.shape, normalization)};
            LibtorchStep libtorch(model, train, normalization, optimizer);
            testing::PlainStep plain(network, plain_train, optimizer);
            ClientStart start;
            start.global = global;
            for (TrainingStep* step : std::initializer_list<TrainingStep*>{&libtorch, &plain}) {
                step->begin(start);
                for (int i = 0; i < 5; ++i) step->step(batch);
                step->compute_gradient(batch);
            }
            for (std::size_t i = 0; i < global.size(); ++i) {
                REQUIRE(plain.parameters().data[i] == doctest::Approx(libtorch.parameters().data[i]).epsilon(1e-4).scale(1.0));
                REQUIRE(plain.gradient().data[i] == doctest::Approx(libtorch.gradient().data[i]).epsilon(1e-4).scale(1.0));
            }
            CHECK(plain.loss_sum() == doctest::Approx(libtorch.loss_sum()).epsilon(1e-5));
            LibtorchEvaluation libtorch_evaluation(model, test.shape, normalization);
            testing::PlainEvaluation plain_evaluation(network, plain_test.gather);
            const testing::Evaluated wanted = testing::evaluated_range(libtorch_evaluation, global, test, 10, 50);
            const testing::Evaluated found = testing::evaluated_range(plain_evaluation, global, test, 10, 50);
            CHECK(found.loss_sum == doctest::Approx(wanted.loss_sum).epsilon(1e-5));
            CHECK(found.correct == wanted.correct);
            CHECK(found.among_five == wanted.among_five);
            CHECK(wanted.among_five > wanted.correct);
        }
    }
}
