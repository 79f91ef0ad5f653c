// The direct engine's steps and whole clients on a GPU: the contract of steps, and equal bits between the two.
#include "clients/engine/device_step.h"
#include "aggregation/memory/cuda_block.h"
#include "aggregation/memory/pinned_array.h"
#include "clients/data/formats/glyphs.h"
#include "clients/data/formats/synthetic.h"
#include "clients/data/partitions/schemes.h"
#include "clients/data/shared_dataset.h"
#include "clients/engine/direct_step.h"
#include "clients/visit/device_clients.h"
#include "clients/visit/local_step.h"
#include "tests/clients/direct/networks.h"
#include "tests/conformance/training_step_conformance.h"
#include "tests/support/drawn_numbers.h"
#include "tests/support/evaluated.h"
#include "tests/support/proximal.h"
#include "tests/support/skip.h"
#include "tests/support/small_model.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::clients;
using aggregation::MemorySpace;
using conformance::StepUnderTest;

namespace {

constexpr std::size_t kBlockExamples = 64;

bool has_device() { return aggregation::cuda_versions().devices > 0; }

/// A small network with dropout: on an emulated device every thread costs time.
ModelSpec dropping(const ExampleShape& input, std::int64_t num_classes) {
    LayerList layers;
    layers.add("flatten").add("linear", {12}).add("relu").add("dropout", {0.4F}).add("linear");
    return fedhive::testing::listed_model(layers, input, num_classes);
}

/// Batch norm of rows, in a residual, too.
ModelSpec normed(const ExampleShape& input, std::int64_t num_classes) {
    LayerList layers;
    layers.add("flatten").add("linear", {12, 0}).add("batch_norm").add("relu").add("residual").add("linear", {12});
    layers.add("batch_norm").end().add("linear");
    return fedhive::testing::listed_model(layers, input, num_classes);
}

Dataset drawn(const std::string& name, std::uint32_t numbers) {
    Dataset classes =
        name != "mnist_cnn" ? draw_synthetic({kBlockExamples, 10, 4, 12, 2.0}, 7) : draw_glyphs(kBlockExamples, 10, 7);
    return numbers == 0 ? classes : fedhive::testing::with_numbers(std::move(classes), numbers);
}

/// A step with its data, on images if the model takes them; targets are classes, or `numbers` numbers.
struct BlockModel {
    BlockModel(const std::string& name, bool dropout, const aggregation::OptimizerOptions& optimizer, std::uint32_t numbers = 0)
        : dataset(SharedDataset::create(drawn(name, numbers), partition_contiguous(kBlockExamples, 3))),
          uploaded(dataset.upload(aggregation::cuda_driver())),
          spec(name == "dropping" ? dropping(dataset.map().shape, dataset.map().num_classes)
               : name == "normed" ? normed(dataset.map().shape, dataset.map().num_classes)
                                  : fedhive::testing::small_model(name, dataset.map().shape, dataset.map().num_classes, dropout,
                                                                  dataset.map().target)),
          network(spec, {}, name == "normed" ? 3000 : shared_bytes_of_device()),
          step(network, dataset.train(MemorySpace::Cuda), optimizer, 16) {}
    aggregation::ParamBuffer start() const {
        aggregation::testing::Floats global(network.num_floats(), 0.0F);
        Stream stream(4, Purpose::ModelInit);
        for (const auto& entry : network.layout().entries()) {
            const double fan_in = static_cast<double>(entry.size) / static_cast<double>(entry.shape[0]);
            for (float& value : std::span(global).subspan(entry.offset, entry.size))
                value = fedhive::testing::draw_parameter(entry, 0.5 / std::sqrt(fan_in), stream);
        }
        return aggregation::testing::upload(global, MemorySpace::Cuda);
    }

    SharedDataset dataset;
    aggregation::IpcHandle uploaded;
    ModelSpec spec;
    DeviceNetwork network;
    DeviceStep step;
};

StepUnderTest step_of(const std::string& name, std::uint32_t numbers = 0) {
    const auto make = [=](const aggregation::OptimizerOptions& optimizer) {
        const auto model = std::make_shared<BlockModel>(name, false, optimizer, numbers);
        return std::shared_ptr<TrainingStep>(model, &model->step);
    };
    return {make, BlockModel(name, false, {}, numbers).start()};
}

}  // namespace

TEST_SUITE("DeviceSteps") {
    TEST_CASE("Gpu: DeviceStepsConform") {
        if (!has_device()) FEDHIVE_SKIP("there is no CUDA device");
        conformance::training_step_conforms(step_of("mlp"));
        conformance::training_step_conforms(step_of("mlp", 2));
        conformance::dropout_follows_the_clients_seed(step_of("dropping"));
    }

    TEST_CASE("Gpu: WholeClientsHaveTheBitsOfTheirSteps") {
        if (!has_device()) FEDHIVE_SKIP("there is no CUDA device");
        for (const auto& [name, numbers, sgd, mu] :
             std::vector<std::tuple<std::string, std::uint32_t, aggregation::SgdOptions, float>>{
                 {"lr", 0, {0.125F, 0.0F, 0.25F, false}, 0.0F},
                 {"mlp", 0, {0.125F, 0.5F, 0.25F, true}, 0.5F},
                 {"mlp", 3, {0.125F, 0.5F, 0.0F, false}, 0.0F},
                 {"normed", 0, {0.125F, 0.5F, 0.25F, false}, 0.0F},
                 {"mnist_cnn", 0, {0.125F, 0.5F, 0.0F, false}, 0.0F}}) {
            CAPTURE(name);
            BlockModel on(name, true, sgd, numbers);
            const aggregation::ParamBuffer global = on.start();
            const ExamplesView train = on.dataset.train(MemorySpace::Cuda);
            CHECK((on.network.floats_of_rows(on.network.placement(8, true)) > 0) == (name == "normed"));
            DeviceClients whole(on.network, train, sgd, 8);
            LocalTraining plan;
            plan.batch_size = 8;
            plan.local_epochs = name == "mnist_cnn" ? 1 : 2;
            RoundRate rate;
            rate.lr_factor = 0.5F;
            testing::ProximalStep step_with(on.step, mu, on.network.trainable(), global);
            if (mu != 0.0F) whole.begin_formulas(*step_with.term.visit);
            aggregation::PinnedArray<ClientFigures> figures(MemorySpace::Cuda);
            figures.reserve(4);
            // Two rounds: the second launch reuses rows, lists and velocities of the first.
            for (const std::uint32_t round : {0U, 1U}) {
                std::vector<RowClient> clients;
                for (const std::uint32_t id : {0U, 2U})
                    clients.push_back({id, on.dataset.shard(id).first(13 + id), &figures[id]});
                std::vector<ClientResult> results(2);
                whole.train(plan, rate, round, clients, global, results);
                for (std::size_t row = 0; row < 2; ++row) {
                    LocalStep& step = step_with.step;
                    const RowClient alone{clients[row].client_id, clients[row].shard, &figures[3]};
                    ClientResult expected;
                    enqueue_clients(step, plan, rate, round, {&alone, 1}, global, {&expected, 1});
                    CHECK(conformance::same_bits(conformance::download(whole.parameters_of(row)),
                                                 conformance::download(step.parameters())));
                    CHECK(clients[row].figures->loss_sum == figures[3].loss_sum);
                    CHECK(clients[row].figures->examples == figures[3].examples);
                    CHECK(results[row].steps == expected.steps);
                }
            }
        }
    }

    TEST_CASE("Gpu: EvaluationOnTheDeviceSumsItsExamples") {
        if (!has_device()) FEDHIVE_SKIP("there is no CUDA device");
        BlockModel on("mlp", false, {});
        const aggregation::ParamBuffer global = on.start();
        DeviceEvaluation evaluation(on.network);
        const ExamplesView examples = on.dataset.train(MemorySpace::Cuda);
        const testing::Evaluated all = testing::evaluated_range(evaluation, global, examples, 0, kBlockExamples);
        testing::Evaluated parts;
        for (const auto& [first, count] : {std::pair<std::uint64_t, std::uint64_t>{0, 1}, {1, 40}, {41, 23}}) {
            const testing::Evaluated part = testing::evaluated_range(evaluation, global, examples, first, count);
            parts.loss_sum += part.loss_sum;
            parts.correct += part.correct;
            parts.among_five += part.among_five;
        }
        CHECK(parts.correct == all.correct);
        CHECK(all.correct > 0);
        CHECK(parts.among_five == all.among_five);
        CHECK(all.among_five > all.correct);
        CHECK(parts.loss_sum == doctest::Approx(all.loss_sum).epsilon(1e-12));
        CHECK_THROWS_AS(testing::evaluated_range(evaluation, global, examples, kBlockExamples, 1), Fault);
        BlockModel numbers("mlp", false, {}, 2);
        const aggregation::ParamBuffer start = numbers.start();
        DeviceEvaluation on_device(numbers.network);
        const testing::Evaluated of_numbers =
            testing::evaluated_range(on_device, start, numbers.dataset.train(MemorySpace::Cuda), 0, kBlockExamples);
        direct::Network host(numbers.spec);
        DirectEvaluation on_host(host, numbers.spec.input, {});
        const auto from = conformance::download(start);
        const testing::Evaluated expected = testing::evaluated_range(on_host, {from.data(), from.size(), MemorySpace::Host},
                                                                     numbers.dataset.train(), 0, kBlockExamples);
        CHECK(of_numbers.correct == 0);
        CHECK(of_numbers.loss_sum == doctest::Approx(expected.loss_sum).epsilon(1e-6));
        CHECK(of_numbers.absolute_sum == doctest::Approx(expected.absolute_sum).epsilon(1e-6));
    }

    TEST_CASE("Gpu: DeviceRefusesExamplesThatAreNotThereAndModelsWithoutRoom") {
        if (!has_device()) FEDHIVE_SKIP("there is no CUDA device");
        BlockModel on("lr", false, {});
        const std::vector<std::uint32_t> outside{0, kBlockExamples};
        StepUnderTest::begin(on.step, on.start());
        CHECK_THROWS_AS(on.step.compute_gradient(outside), Fault);
        CHECK_THROWS_WITH_AS(DeviceNetwork(on.spec, {}, 50), doctest::Contains("shared memory of one multiprocessor"), Fault);
    }
}
