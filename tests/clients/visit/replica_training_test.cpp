#include "clients/visit/replica_training.h"

#include "clients/data/formats/glyphs.h"
#include "clients/data/formats/synthetic.h"
#include "tests/clients/visit/replicas.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace fedhive;
using namespace fedhive::clients;
using namespace fedhive::testing;
using aggregation::MemorySpace;

namespace {

/// 203 examples in batches of 16: padding for all numbers of ranks but 1 and 7, and a smaller last batch.
struct Setting {
    explicit Setting(float momentum = 0.9F, std::uint64_t passes = 1)
        : dataset(draw_synthetic({203, 20, 4, 12, 2.0}, 7)),
          task{spec_of(dataset),
               {dataset.train.shape, dataset.train.values, dataset.train.labels},
               {},
               {0.05F, momentum, 0.01F, false},
               {5, passes, 16}},
          layout(model_layout(task.spec)) {}

    static ModelSpec spec_of(const Dataset& dataset) {
        return named_model("mlp", dataset.train.shape, dataset.num_classes, {{"hidden", 16}});
    }

    /// Runs `rounds` rounds on `ranks` ranks.
    std::vector<ReplicaState> run(std::uint32_t ranks, std::uint32_t rounds) const {
        std::vector<ReplicaState> states(ranks, first_state(task, layout));
        for (std::uint32_t round = 0; round < rounds; ++round) states = train_ranks(task, round, states);
        return states;
    }

    Dataset dataset;
    SharedTask task;
    aggregation::Layout layout;
};

/// The batches of all ranks in each step of an epoch.
std::vector<std::vector<std::vector<std::uint32_t>>> batches_of(const Setting& setting, std::uint32_t ranks,
                                                                std::uint32_t epoch) {
    std::vector<std::vector<std::vector<std::uint32_t>>> steps;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const auto sample = distributed_sample(setting.task.train.size(), setting.task.plan.seed, epoch, {rank, ranks});
        std::size_t step = 0;
        for (std::size_t i = 0; i < sample.size(); ++i) {
            step = i / setting.task.plan.batch_size;
            if (step == steps.size()) steps.emplace_back(ranks);
            steps[step][rank].push_back(sample[i]);
        }
    }
    return steps;
}

/// Reference with one process and one model: `take` makes a step from the batches of all ranks.
template <typename Take>
std::vector<float> reference(const Setting& setting, std::uint32_t ranks, std::uint32_t epochs, Take take) {
    Replica replica(setting.task);
    const ReplicaState first = first_state(setting.task, setting.layout);
    ClientStart start;
    start.global = first.model;
    replica.step.begin(start);
    for (std::uint32_t epoch = 0; epoch < epochs; ++epoch)
        for (const auto& batches : batches_of(setting, ranks, epoch)) take(replica.step, batches);
    const auto model = replica.step.parameters().host();
    return {model.begin(), model.end()};
}

double norm(const std::vector<float>& a, const std::vector<float>& b) {
    double squares = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) squares += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
    return std::sqrt(squares);
}

}  // namespace

TEST_SUITE("ReplicaTraining") {
    TEST_CASE("RanksEqualOneProcessThatAccumulatesTheirGradientsBitForBit") {
        for (const std::uint32_t ranks : {1U, 2U, 3U, 4U, 7U}) {
            for (const float momentum : {0.0F, 0.9F}) {
                const Setting setting(momentum);
                aggregation::SlotSum sum(setting.layout.num_trainable(), MemorySpace::Host);
                const auto accumulated = reference(setting, ranks, 2, [&](TrainingStep& step, const auto& batches) {
                    sum.zero_init();
                    for (const auto& batch : batches) {
                        step.compute_gradient(batch);
                        sum.add(step.one_row()->gradient(), 1.0);
                    }
                    sum.finish(step.one_row()->gradient());
                    for (float& value : step.one_row()->gradient().host())
                        value = static_cast<float>(static_cast<double>(value) * (1.0 / ranks));
                    step.apply_gradients();
                });
                for (const ReplicaState& state : setting.run(ranks, 2)) CHECK(state.model == accumulated);
            }
        }
    }

    TEST_CASE("RanksEqualOneProcessWithTheLargeBatchUpToRounding") {
        for (const std::uint32_t ranks : {2U, 3U, 4U}) {
            const Setting setting;
            const auto large = reference(setting, ranks, 2, [](TrainingStep& step, const auto& batches) {
                std::vector<std::uint32_t> all;
                for (const auto& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
                step.step(all);
            });
            const auto first = first_state(setting.task, setting.layout).model;
            const double difference = norm(setting.run(ranks, 2)[0].model, large) / norm(large, first);
            MESSAGE(ranks, " ranks: relative difference ", difference);
            CHECK(difference < 1e-5);
            CHECK(norm(large, first) > 0.1);
        }
    }

    TEST_CASE("RanksStayIdenticalAlsoWithDropoutOfTheirOwn") {
        const Dataset glyphs = draw_glyphs(45, 10, 1);
        SharedTask task{
            {}, {glyphs.train.shape, glyphs.train.values, glyphs.train.labels}, {}, {0.05F, 0.5F, 0.0F, false}, {5, 2, 8}};
        task.spec = named_model("mnist_cnn", glyphs.train.shape, 10);
        const auto layout = model_layout(task.spec);
        const auto states = train_ranks(task, 0, std::vector(2, first_state(task, layout)));
        CHECK(states[0].model == states[1].model);
        CHECK(states[0].velocity == states[1].velocity);
        CHECK(states[0].result.update_hash == states[1].result.update_hash);
        CHECK(states[0].result.train_loss != states[1].result.train_loss);
        CHECK(states[0].result.steps == 6);  // 2 passes of 23 examples: 8, 8, 7
    }

    TEST_CASE("MomentumGoesOnFromRoundToRound") {
        // Two rounds of one pass equal one round of two passes.
        const auto in_turn = Setting(0.9F, 1).run(2, 2)[0];
        const auto at_once = Setting(0.9F, 2).run(2, 1)[0];
        CHECK(in_turn.model == at_once.model);
        CHECK(in_turn.velocity == at_once.velocity);
        // Without the velocity they differ.
        const Setting setting(0.9F, 1);
        auto states = setting.run(2, 1);
        for (ReplicaState& state : states) std::fill(state.velocity.begin(), state.velocity.end(), 0.0F);
        CHECK(train_ranks(setting.task, 1, states)[0].model != at_once.model);
    }

    TEST_CASE("ResultTellsOfTheModelAndTheRanksOwnLoss") {
        const Setting setting;
        const ReplicaState first = first_state(setting.task, setting.layout);
        const auto states = setting.run(3, 1);
        CHECK(states[0].result.steps == 5);  // 68 examples: 4 times 16, and 4
        CHECK(states[0].result.finite == 1);
        CHECK(states[0].result.update_norm == doctest::Approx(norm(states[0].model, first.model)).epsilon(1e-6));
        CHECK(states[0].result.update_hash == states[2].result.update_hash);
        // With a tiny rate nothing moves: the mean over ranks is the loss of all examples, with padding counted twice.
        Setting still;
        still.task.optimizer = {1e-30F, 0.0F, 0.0F, false};
        double mean = 0.0;
        for (const ReplicaState& state : still.run(7, 1)) mean += state.result.train_loss / 7.0;
        CHECK(mean == doctest::Approx(still.run(1, 1)[0].result.train_loss).epsilon(1e-5));
    }

    TEST_CASE("ExplodingModelIsNotFiniteOnEveryRank") {
        Setting setting(0.0F);
        setting.task.optimizer.lr = 1e30F;
        for (const ReplicaState& state : setting.run(2, 1)) CHECK(state.result.finite == 0);
    }
}
