// Steps of programs without LibTorch, the direct engine's and the plain engine's, against the contract of steps.
#include "aggregation/base/random.h"
#include "clients/data/formats/glyphs.h"
#include "clients/data/formats/synthetic.h"
#include "clients/engine/direct_step.h"
#include "clients/visit/formula_visit.h"
#include "clients/visit/local_step.h"
#include "clients/worker/supervised_step.h"
#include "tests/conformance/rows_conformance.h"
#include "tests/support/drawn_numbers.h"
#include "tests/support/plain_engine/steps.h"
#include "tests/support/small_model.h"
#include "tests/support/statistics.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace fedhive;
using namespace fedhive::clients;
using conformance::RowsUnderTest;
using conformance::StepUnderTest;

namespace {

struct Model {
    explicit Model(const std::string& name)
        : network(std::make_unique<fedhive::testing::Network>(
              fedhive::testing::small_model(name, dataset.train.shape, dataset.num_classes))) {}
    aggregation::ParamBuffer start() const {
        aggregation::testing::Floats global(network->layout().num_floats(), 0.0F);
        Stream stream(4, Purpose::ModelInit);
        for (const auto& entry : network->layout().entries())
            for (float& value : std::span(global).subspan(entry.offset, entry.size))
                value = static_cast<float>(0.3 * stream.normal());
        return aggregation::testing::upload(global, aggregation::MemorySpace::Host);
    }

    Dataset dataset = draw_synthetic({64, 10, 4, 12, 2.0}, 7);
    fedhive::testing::PlainExamples train{{dataset.train.shape, dataset.train.values, dataset.train.labels},
                                          BatchGather(dataset.train.shape, {})};
    std::unique_ptr<fedhive::testing::Network> network;
    WorkerCell cell;
    Supervision supervision{cell, [] { return false; }, false};
    std::unique_ptr<TrainingStep> step, supervised;
};

StepUnderTest one(const std::string& name, bool supervised) {
    const auto make = [=](const aggregation::OptimizerOptions& optimizer) {
        const auto model = std::make_shared<Model>(name);
        model->step = std::make_unique<fedhive::testing::PlainStep>(*model->network, model->train, optimizer);
        model->supervised = std::make_unique<SupervisedStep>(*model->step, model->supervision);
        return std::shared_ptr<TrainingStep>(model, supervised ? model->supervised.get() : model->step.get());
    };
    return {make, Model(name).start()};
}

RowsUnderTest many(const std::string& name, bool supervised) {
    const auto make = [=](const aggregation::SgdOptions& optimizer) {
        const auto model = std::make_shared<Model>(name);
        model->step = std::make_unique<fedhive::testing::PlainRows>(*model->network, model->train, optimizer, 5);
        model->supervision.expect(std::vector<InjectedFault>(4), 0, [](std::size_t) {});
        model->supervised = std::make_unique<SupervisedStep>(*model->step, model->supervision);
        return std::shared_ptr<TrainingStep>(model, supervised ? model->supervised.get() : model->step.get());
    };
    return {make, one(name, false)};
}

/// The same for the direct engine, on images if the model takes them.
struct DirectModel {
    explicit DirectModel(const std::string& name, bool dropout, const aggregation::OptimizerOptions& optimizer,
                         std::uint32_t numbers = 0)
        : dataset(name == "lr" || name == "mlp" ? draw_synthetic({64, 10, 4, 12, 2.0}, 7) : draw_glyphs(64, 10, 7)) {
        if (numbers > 0) dataset = fedhive::testing::with_numbers(std::move(dataset), numbers);
        const Examples& train = dataset.train;
        network.emplace(fedhive::testing::small_model(name, train.shape, dataset.num_classes, dropout, train.target));
        const ExamplesView view{.shape = train.shape,
                                .values = train.values,
                                .labels = train.labels,
                                .target = train.target,
                                .numbers = train.numbers};
        step.emplace(*network, view, Normalization{}, optimizer);
    }
    aggregation::ParamBuffer start() const {
        aggregation::testing::Floats global(network->layout().num_floats(), 0.0F);
        Stream stream(4, Purpose::ModelInit);
        for (const auto& entry : network->layout().entries()) {
            const double fan_in = static_cast<double>(entry.size) / static_cast<double>(entry.shape[0]);
            for (float& value : std::span(global).subspan(entry.offset, entry.size))
                value = static_cast<float>(0.5 / std::sqrt(fan_in) * stream.normal());
        }
        return aggregation::testing::upload(global, aggregation::MemorySpace::Host);
    }

    Dataset dataset;
    std::optional<direct::Network> network;
    std::optional<DirectStep> step;
};

/// The direct engine's step for classes, or for `numbers` numbers.
StepUnderTest directly(const std::string& name, bool dropout = false, std::uint32_t numbers = 0) {
    const auto make = [=](const aggregation::OptimizerOptions& optimizer) {
        const auto model = std::make_shared<DirectModel>(name, dropout, optimizer, numbers);
        return std::shared_ptr<TrainingStep>(model, &*model->step);
    };
    return {make, DirectModel(name, dropout, {}, numbers).start()};
}

/// `wrap` around the direct engine's step of `mlp`.
template <typename Step>
StepUnderTest around(const std::function<std::unique_ptr<Step>(TrainingStep&)>& wrap) {
    struct Held {
        explicit Held(const aggregation::OptimizerOptions& optimizer) : model("mlp", false, optimizer) {}
        DirectModel model;
        std::unique_ptr<Step> step;
    };
    const auto make = [=](const aggregation::OptimizerOptions& optimizer) {
        const auto held = std::make_shared<Held>(optimizer);
        held->step = wrap(*held->model.step);
        return std::shared_ptr<TrainingStep>(held, held->step.get());
    };
    return {make, DirectModel("mlp", false, {}).start()};
}

/// A local step with a formula of the gradient that changes no bit.
class WithFormula final : public WrappedStep {
public:
    WithFormula(TrainingStep& step, const aggregation::Layout& layout) : WithFormula(std::make_unique<Made>(step, layout)) {}

private:
    struct Made {
        Made(TrainingStep& engine, const aggregation::Layout& layout) : step(engine), zeros(layout.num_floats()) {
            MethodText text;
            text.set(
                aggregation::formulas::MethodFormulas{.lines = {{aggregation::formulas::Place::Gradient, {"g = g + 0 * w_t"}}}}
                    .text());
            formulas.emplace(text, memories, layout, LocalPart(), Reports(), aggregation::MemorySpace::Host);
            formulas->add_to(step);
            formulas->begin({.all = &memories, .region = {}, .record = {}, .slot = {}, .beside = {}},
                            aggregation::ConstParamSpan(zeros), {});
        }
        aggregation::Memories memories;
        LocalStep step;
        std::vector<float> zeros;
        std::optional<FormulaVisit> formulas;
    };
    explicit WithFormula(std::unique_ptr<Made> made)
        : WrappedStep(static_cast<TrainingStep&>(made->step)), made_(std::move(made)) {}
    std::unique_ptr<Made> made_;
};

}  // namespace

// Wrappers that change nothing must conform as well.
TEST_SUITE("WrappedStepsConform") {
    TEST_CASE("StepWithALimitThatIsFarConforms") {
        conformance::training_step_conforms(
            around<LocalStep>([](TrainingStep& step) { return std::make_unique<LocalStep>(step, 1e9); }));
    }
    TEST_CASE("StepWithAFormulaThatAddsNothingConforms") {
        conformance::training_step_conforms(around<WithFormula>([](TrainingStep& step) {
            return std::make_unique<WithFormula>(step, DirectModel("mlp", false, {}).network->layout());
        }));
    }
}

TEST_SUITE("DirectStepsConform") {
    TEST_CASE("DirectStepsConform") {
        for (const std::string name : {"lr", "mlp", "mnist_cnn", "cnn_m"}) {
            CAPTURE(name);
            if (fedhive::testing::kFewDraws && name == "cnn_m") continue;  // slow
            conformance::training_step_conforms(directly(name));
        }
    }
    TEST_CASE("DirectStepsTowardsNumbersConform") {
        conformance::training_step_conforms(directly("mlp", false, 1));
        conformance::training_step_conforms(directly("mnist_cnn", false, 3));
    }
    TEST_CASE("DirectDropoutFollowsTheClientsSeed") {
        for (const std::string name : {"mnist_cnn", "cnn_m"}) {
            if (fedhive::testing::kFewDraws && name == "cnn_m") continue;  // slow
            CAPTURE(name);
            conformance::dropout_follows_the_clients_seed(directly(name, true));
        }
    }
}

TEST_SUITE("PlainStepsConform") {
    TEST_CASE("PlainStepsConform") {
        for (const char* name : {"lr", "mlp"})
            for (const bool supervised : {false, true}) conformance::training_step_conforms(one(name, supervised));
    }
    TEST_CASE("PlainBatchedStepsConform") {
        for (const char* name : {"lr", "mlp"})
            for (const bool supervised : {false, true}) conformance::rows_conform(many(name, supervised));
    }
}
