#include "clients/visit/local_training.h"
#include "clients/trainers/engine.h"

#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "aggregation/math/mean.h"
#include "clients/data/formats/glyphs.h"
#include "clients/data/formats/synthetic.h"
#include "clients/data/partition.h"
#include "clients/engine/libtorch_step.h"
#include "clients/visit/local_step.h"
#include "tests/aggregation/server_steps.h"
#include "tests/clients/visit/batched_clients.h"
#include "tests/support/evaluated.h"
#include "tests/support/proximal.h"
#include "tests/support/small_model.h"

#include <ATen/ops/cross_entropy_loss.h>
#include <doctest/doctest.h>
#include <torch/optim/sgd.h>

#include <numeric>

using namespace fedhive;
using namespace fedhive::clients;
using aggregation::MemorySpace;
using aggregation::SgdOptions;
using testing::largest_difference;

namespace {

/// A small data set, its model, and one client's training on it.
struct Bench {
    explicit Bench(SgdOptions optimizer, std::string_view name = "mlp")
        : dataset(draw_synthetic({200, 20, 4, 12, 2.0}, 7)),
          spec(testing::small_model(name, dataset.train.shape, dataset.num_classes)),
          model(spec, MemorySpace::Host),
          train{dataset.train.shape, dataset.train.values, dataset.train.labels},
          engine(model, train, {}, optimizer),
          step(engine),
          global(model.layout().num_floats(), 0.0F),
          update(model.layout().num_floats(), 0.0F) {
        initial_parameters(spec, model.layout(), 3, global);
    }

    std::vector<std::uint32_t> shard(std::size_t count) const {
        std::vector<std::uint32_t> indices(count);
        std::iota(indices.begin(), indices.end(), 0U);
        return indices;
    }

    ClientResult run(const LocalTraining& plan, std::size_t examples, float mu = 0.0F, std::uint32_t round = 0,
                     std::uint32_t client = 0) {
        testing::ProximalStep local(engine, mu, model.layout().num_trainable(), aggregation::ConstParamSpan(global));
        return train_client(local.step, plan, {}, round, client, shard(examples), global, update);
    }

    Dataset dataset;
    ModelSpec spec;
    FlatModel model;
    ExamplesView train;
    LibtorchStep engine;
    LocalStep step;
    std::vector<float> global;
    std::vector<float> update;
};

/// Reference: the same client by torch.optim.SGD on an ordinary module.
std::vector<float> reference_update(const Bench& bench, const LocalTraining& plan, std::size_t examples,
                                    const torch::optim::SGDOptions& options) {
    Classifier module(bench.spec);
    std::vector<at::Tensor> parameters;
    {
        const at::NoGradGuard no_grad;
        for (const at::Tensor* parameter : module.tensors()) {
            const auto& entry = bench.model.layout().entries()[parameters.size()];
            parameters.push_back(*parameter);
            parameter->copy_(at::from_blob(const_cast<float*>(bench.global.data()) + entry.offset, entry.shape));
        }
    }
    torch::optim::SGD optimizer(parameters, options);
    Stream shuffling(plan.seed, Purpose::Shuffle, 0, 0);
    std::vector<std::uint32_t> order = bench.shard(examples);
    BatchTensors batches(bench.train.shape, {}, at::kCPU);
    for (std::uint64_t epoch = 0; epoch < plan.local_epochs; ++epoch) {
        shuffle(std::span(order), shuffling);
        for (std::size_t first = 0; first < order.size(); first += plan.batch_size) {
            const std::size_t size = std::min<std::size_t>(plan.batch_size, order.size() - first);
            const auto [x, y] = batches.gather(bench.train, {std::span(order).subspan(first, size)});
            optimizer.zero_grad();
            at::cross_entropy_loss(module.forward(x), y).backward();
            optimizer.step();
        }
    }
    std::vector<float> local(bench.model.layout().num_floats(), 0.0F);
    store_parameters(module, bench.model.layout(), local);
    for (std::size_t i = 0; i < local.size(); ++i) local[i] -= bench.global[i];
    return local;
}

}  // namespace

TEST_SUITE("LocalTraining") {
    TEST_CASE("FlatSgdEqualsTorchOptimSgd") {
        const LocalTraining plan{5, 3, 16};
        struct Row {
            double lr, momentum, weight_decay;
            bool nesterov;
        };
        for (const Row& row : {Row{0.1, 0.0, 0.0, false}, Row{0.05, 0.9, 0.0, false}, Row{0.05, 0.9, 0.01, false},
                               Row{0.05, 0.5, 0.0, true}, Row{0.1, 0.0, 0.1, false}}) {
            Bench bench({static_cast<float>(row.lr), static_cast<float>(row.momentum), static_cast<float>(row.weight_decay),
                         row.nesterov});
            const ClientResult result = bench.run(plan, 100);
            CHECK(result.steps == 21);  // 3 epochs of 6 full batches and one of 4
            const auto reference = reference_update(
                bench, plan, 100,
                torch::optim::SGDOptions(row.lr).momentum(row.momentum).weight_decay(row.weight_decay).nesterov(row.nesterov));
            CHECK(largest_difference(bench.update, reference) < 1e-6);
            CHECK(result.update_norm > 0.01);
        }
    }

    TEST_CASE("FedAvgWithOneClientAndFullBatchEqualsPlainSgd") {
        Bench bench({0.5F, 0.0F, 0.0F, false});
        const LocalTraining plan{5, 1, 200};
        bench.run(plan, 200);
        const auto mean = aggregation::make_mean();
        mean->zero_init(bench.update.size(), MemorySpace::Host);
        mean->aggregate({bench.update, 0, 200.0, 200.0, 1});
        std::vector<float> next(bench.global.size(), 0.0F);
        aggregation::testing::plain_server(next.size())->step(next, bench.global, mean->finish());
        const auto plain = reference_update(bench, plan, 200, torch::optim::SGDOptions(0.5));
        for (std::size_t i = 0; i < next.size(); ++i) next[i] -= bench.global[i];
        CHECK(largest_difference(next, plain) < 1e-6);
    }

    TEST_CASE("ProximalTermOfZeroChangesNoBitAndAPositiveOneKeepsTheModelNear") {
        const LocalTraining plan{5, 3, 16};
        Bench bench({0.1F, 0.5F, 0.0F, false});
        const ClientResult without = bench.run(plan, 100);
        const ClientResult zero = bench.run(plan, 100, 0.0F);
        const ClientResult strong = bench.run(plan, 100, 1.0F);
        CHECK(zero.update_hash == without.update_hash);
        CHECK(strong.update_norm < 0.9 * without.update_norm);
    }

    TEST_CASE("SameKeysGiveSameBitsWhateverRanBefore") {
        const LocalTraining plan{5, 2, 16};
        Bench bench({0.05F, 0.9F, 0.0F, false});
        const auto first = bench.run(plan, 100, 0.0F, 2, 9).update_hash;
        bench.run(plan, 77, 0.0F, 1, 3);
        CHECK(bench.run(plan, 100, 0.0F, 2, 9).update_hash == first);
        CHECK(bench.run(plan, 100, 0.0F, 3, 9).update_hash != first);
        CHECK(bench.run(plan, 100, 0.0F, 2, 8).update_hash != first);
        CHECK(bench.run({6, 2, 16}, 100, 0.0F, 2, 9).update_hash != first);
    }

    TEST_CASE("DropoutIsDrawnForEachClientAndRoundAnew") {
        // A single example, so that only dropout is random.
        const Dataset glyphs = draw_glyphs(10, 10, 1);
        const ExamplesView train{glyphs.train.shape, glyphs.train.values, glyphs.train.labels};
        const std::vector<std::uint32_t> shard{3};
        for (const bool dropout : {true, false}) {
            const ModelSpec spec = named_model("mnist_cnn", glyphs.train.shape, 10, {{"dropout", dropout}});
            FlatModel model(spec, MemorySpace::Host);
            LibtorchStep step(model, train, {}, SgdOptions{0.1F, 0.0F, 0.0F, false});
            std::vector<float> global(model.layout().num_floats(), 0.0F);
            std::vector<float> update(global.size(), 0.0F);
            initial_parameters(spec, model.layout(), 3, global);
            const auto hash = [&](std::uint32_t round, std::uint32_t client) {
                return train_client(step, {5, 1, 1}, {}, round, client, shard, global, update).update_hash;
            };
            CHECK((hash(0, 0) == hash(0, 1)) == !dropout);
            CHECK((hash(0, 0) == hash(1, 0)) == !dropout);
            CHECK(hash(0, 0) == hash(0, 0));
        }
    }

    TEST_CASE("LossIsTheMeanOverExamplesSeen") {
        // With a tiny rate nothing moves: each epoch's loss is the initial model's, including the ragged last batch.
        Bench bench({1e-30F, 0.0F, 0.0F, false});
        const double whole = bench.run({5, 1, 100}, 100).train_loss;
        CHECK(bench.run({5, 3, 16}, 100).train_loss == doctest::Approx(whole).epsilon(1e-5));
        CHECK(bench.run({5, 1, 33}, 100).train_loss == doctest::Approx(whole).epsilon(1e-5));
    }

    TEST_CASE("ExplodingUpdateIsNotFinite") {
        Bench bench({1e30F, 0.0F, 0.0F, false});
        CHECK(bench.run({5, 3, 16}, 100).finite == 0);
        CHECK(bench.run({5, 3, 16}, 100, 0.0F).finite == 0);
    }
}

TEST_SUITE("LibtorchStep") {
    TEST_CASE("GradientThatIsAppliedElsewhereGivesTheBitsOfAStep") {
        // A parameter server keeps model and momentum; each computation of gradients gets the current model.
        const SgdOptions optimizer{0.05F, 0.9F, 0.01F, false};
        Bench bench(optimizer);
        ClientStart start;
        start.global = bench.global;
        const std::vector<std::uint32_t> batches = bench.shard(96);
        bench.step.begin(start);
        for (std::size_t first = 0; first < 96; first += 16) bench.step.step(std::span(batches).subspan(first, 16));
        const auto local = bench.step.parameters().host();
        const std::vector<float> whole(local.begin(), local.end());
        const double loss = bench.step.loss_sum();

        std::vector<float> model = bench.global, velocity(bench.step.one_row()->optimizer_state().size, 0.0F);
        bench.step.begin(start);
        for (std::size_t first = 0; first < 96; first += 16) {
            aggregation::copy(bench.step.parameters(), model);
            bench.step.compute_gradient(std::span(batches).subspan(first, 16));
            CHECK(std::equal(model.begin(), model.end(), bench.step.parameters().data));
            aggregation::sgd_step({model.data(), velocity.size()}, bench.step.one_row()->gradient(), velocity, optimizer);
        }
        CHECK(model == whole);
        CHECK(bench.step.loss_sum() == loss);
    }

    TEST_CASE("StateWithoutMomentumIsEmptyAndOneThatIsGivenIsRefused") {
        Bench bench({0.05F, 0.0F, 0.0F, false});
        CHECK(bench.step.one_row()->optimizer_state().size == 0);
        std::vector<float> velocity(bench.step.one_row()->gradient().size, 0.0F);
        ClientStart start;
        start.global = bench.global;
        start.optimizer_state = velocity;
        CHECK_THROWS_AS(bench.step.begin(start), ShapeError);
    }
}

TEST_SUITE("LibtorchEvaluation") {
    TEST_CASE("ChunksAddUpToTheWhole") {
        Bench bench({0.1F, 0.0F, 0.0F, false});
        LibtorchEvaluation evaluation(bench.model, bench.train.shape, {});
        const testing::Evaluated whole = testing::evaluated_range(evaluation, bench.global, bench.train, 0, 200);
        testing::Evaluated sum;
        for (std::uint64_t first = 0; first < 200; first += 33) {
            const testing::Evaluated part = testing::evaluated_range(evaluation, bench.global, bench.train, first,
                                                                     std::min<std::uint64_t>(33, 200 - first));
            sum.loss_sum += part.loss_sum;
            sum.correct += part.correct;
        }
        CHECK(sum.correct == whole.correct);
        CHECK(sum.loss_sum == doctest::Approx(whole.loss_sum).epsilon(1e-6));
    }

    TEST_CASE("TrainingImprovesWhatEvaluationSees") {
        Bench bench({0.1F, 0.5F, 0.0F, false});
        LibtorchEvaluation evaluation(bench.model, bench.train.shape, {});
        const testing::Evaluated before = testing::evaluated_range(evaluation, bench.global, bench.train, 0, 200);
        bench.run({5, 10, 16}, 200);
        for (std::size_t i = 0; i < bench.global.size(); ++i) bench.global[i] += bench.update[i];
        const testing::Evaluated after = testing::evaluated_range(evaluation, bench.global, bench.train, 0, 200);
        CHECK(after.correct > before.correct);
        CHECK(after.loss_sum < before.loss_sum);
    }
}
