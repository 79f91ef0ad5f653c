// The client's screen without LibTorch: requests to the step, and results.
#include "aggregation/base/random.h"
#include "aggregation/math/vector_ops.h"
#include "clients/data/formats/synthetic.h"
#include "clients/visit/local_batches.h"
#include "clients/visit/local_step.h"
#include "clients/visit/local_training.h"
#include "tests/support/plain_engine/steps.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace fedhive;
using namespace fedhive::clients;

namespace {

using Indices = std::vector<std::uint32_t>;

/// Adds 1 to each of four parameters, and remembers what it was asked for.
struct RecordingStep final : OneRowStep<> {
    aggregation::ParamSpan parameters_of(std::size_t) override { return local; }
    aggregation::ParamSpan gradient() override { return {}; }
    aggregation::ParamSpan optimizer_state() override { return {}; }
    void begin(const ClientStart& start) override {
        aggregation::copy(local, start.global);
        dropout_seeds.push_back(start.dropout_seed);
    }
    void compute_gradients(std::span<const RowBatch> rows) override {
        const RowBatch& batch = only_batch(rows);
        batches.emplace_back(batch.examples.begin(), batch.examples.end());
        transforms.push_back(batch.augmentation_key);
        if (const auto announced = pass.announced_by(batch); !announced.empty())
            epochs.emplace_back(announced.begin(), announced.end());
    }
    void apply_gradients() override {
        for (float& value : local) value += slope;
    }
    double loss_of(std::size_t) override { return 30.0; }

    std::vector<float> local = std::vector<float>(4);
    float slope = 1.0F;
    std::vector<std::uint64_t> dropout_seeds;
    std::vector<Indices> epochs, batches;
    std::vector<TransformKey> transforms;
    PassFollower pass;
};

struct Trained {
    explicit Trained(float slope = 1.0F, std::uint32_t round = 2, std::uint32_t client = 3) {
        step.slope = slope;
        result = train_client(step, {.seed = 9, .local_epochs = 2, .batch_size = 4}, {}, round, client, shard, global, update);
    }
    Indices shard{20, 21, 22, 23, 24, 25, 26, 27, 28, 29};
    std::vector<float> global{1.0F, 2.0F, 3.0F, 4.0F};
    std::vector<float> update = std::vector<float>(4);
    RecordingStep step;
    ClientResult result;
};

/// Softmax regression on random examples, in plain loops.
struct Plain {
    Plain() {
        network = std::make_unique<testing::Network>(named_model("lr", dataset.train.shape, dataset.num_classes));
        global.resize(network->layout().num_floats());
        Stream stream(4, Purpose::ModelInit);
        for (const auto& entry : network->layout().entries())
            for (float& value : std::span(global).subspan(entry.offset, entry.size))
                value = static_cast<float>(0.1 * stream.normal());
    }
    Dataset dataset = draw_synthetic({200, 20, 4, 12, 2.0}, 7);
    testing::PlainExamples train{{dataset.train.shape, dataset.train.values, dataset.train.labels},
                                 BatchGather(dataset.train.shape, {})};
    std::unique_ptr<testing::Network> network;
    std::vector<float> global;
    aggregation::SgdOptions optimizer{0.1F, 0.5F, 0.01F, false};
};

}  // namespace

TEST_SUITE("ClientScreen") {
    TEST_CASE("EachEpochIsAShuffleOfTheClientsOwnCutIntoBatches") {
        const Trained trained;
        REQUIRE(trained.step.epochs.size() == 2);
        Indices order = trained.shard;
        Stream shuffling(9, Purpose::Shuffle, 2, 3);
        std::vector<Indices> batches;
        for (const Indices& epoch : trained.step.epochs) {
            shuffle(std::span(order), shuffling);
            CHECK(epoch == order);
            for (std::size_t first = 0; first < order.size(); first += 4)
                batches.emplace_back(
                    order.begin() + static_cast<std::ptrdiff_t>(first),
                    order.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(first + 4, order.size())));
        }
        CHECK(trained.step.batches == batches);
        CHECK(trained.step.epochs[0] != trained.step.epochs[1]);
        CHECK(trained.step.epochs[0] != Trained(1.0F, 3, 3).step.epochs[0]);
        CHECK(trained.step.epochs[0] != Trained(1.0F, 2, 4).step.epochs[0]);
        const std::uint64_t seed = Stream(9, Purpose::Dropout, 2, 3).next_u64();
        CHECK(trained.step.dropout_seeds == std::vector{seed});
        for (std::size_t i = 0; i < trained.step.transforms.size(); ++i) {
            CHECK(trained.step.transforms[i].seed == seed);
            CHECK(trained.step.transforms[i].epoch == i / 3);
        }
    }

    TEST_CASE("StepsThatAreAskedForInAnyOrderHaveTheBatchesOfTheirPlace") {
        const Trained trained;
        LocalBatches batches({.seed = 9, .local_epochs = 2, .batch_size = 4}, 2, 3, trained.shard);
        for (const std::size_t step : {4U, 0U, 5U, 3U, 1U, 2U}) {
            const RowBatch batch = batches.at(step);
            CHECK(Indices(batch.examples.begin(), batch.examples.end()) == trained.step.batches[step]);
            CHECK(batch.augmentation_key.epoch == step / 3);
        }
    }

    TEST_CASE("StepsThatAreGivenTakeTheirBatchesFromAsManyEpochsAsTheyNeed") {
        const Trained epochs;
        for (const std::uint64_t steps : {1U, 3U, 5U, 6U, 7U}) {
            RecordingStep step;
            std::vector<float> update(4);
            const LocalTraining plan{.seed = 9, .batch_size = 4, .local_steps = steps};
            const ClientResult result = train_client(step, plan, {}, 2, 3, epochs.shard, epochs.global, update);
            CHECK(result.steps == steps);
            REQUIRE(step.batches.size() == steps);
            std::size_t seen = 0;
            for (std::size_t i = 0; i < steps; ++i) {
                if (i < epochs.step.batches.size()) CHECK(step.batches[i] == epochs.step.batches[i]);
                seen += step.batches[i].size();
            }
            CHECK(step.epochs.size() == (steps + 2) / 3);
            CHECK(plan.examples_of(epochs.shard.size()) == seen);
            CHECK(result.train_loss == 30.0 / static_cast<double>(seen));
        }
    }

    TEST_CASE("GradientThatIsTooLongIsCutToLengthAndAShorterOneIsLeft") {
        Plain plain;
        Indices batch(16);
        std::iota(batch.begin(), batch.end(), 0U);
        testing::PlainStep step(*plain.network, plain.train, plain.optimizer);
        ClientStart start;
        start.global = plain.global;
        const auto gradient_of = [&](TrainingStep& of) {
            of.begin(start);
            of.compute_gradient(batch);
            const auto found = of.one_row()->gradient().host();
            return std::vector<float>(found.begin(), found.end());
        };
        const std::vector<float> whole = gradient_of(step);
        double squares = 0.0;
        for (const float value : whole) squares += static_cast<double>(value) * static_cast<double>(value);
        const double norm = std::sqrt(squares);
        REQUIRE(norm > 0.1);
        LocalStep longer(step, 1.01 * norm), shorter(step, 0.25 * norm);
        CHECK(gradient_of(longer) == whole);
        const std::vector<float> cut = gradient_of(shorter);
        for (std::size_t i = 0; i < whole.size(); ++i) CHECK(cut[i] == doctest::Approx(0.25F * whole[i]).epsilon(1e-6));
        shorter.apply_gradients();
        const auto stepped = shorter.parameters().host();
        for (std::size_t i = 0; i < whole.size(); ++i)
            CHECK(stepped[i] == doctest::Approx(plain.global[i] - 0.1F * (cut[i] + 0.01F * plain.global[i])).epsilon(1e-5));
    }

    TEST_CASE("ResultTellsStepsLossAndTheUpdate") {
        Trained trained;
        CHECK(trained.result.steps == 6);
        CHECK(trained.result.train_loss == 1.5);  // 30 over two epochs of ten
        CHECK(trained.update == std::vector<float>(4, 6.0F));
        CHECK(trained.result.update_norm == 12.0);
        std::vector<float> same(4);
        CHECK(trained.result.update_hash == aggregation::write_update(same, trained.step.local, trained.global).hash);
        CHECK(trained.result.finite == 1);
        CHECK(trained.result.seconds >= trained.result.update_s);
    }

    TEST_CASE("UpdateWithAnInfinityIsNotFinite") { CHECK(Trained(std::numeric_limits<float>::infinity()).result.finite == 0); }

    TEST_CASE("HogwildStepsInTheSharedModelAndBringsNoUpdate") {
        Plain plain;
        Indices shard(50);
        std::iota(shard.begin(), shard.end(), 0U);
        const LocalTraining plan{.seed = 5, .local_epochs = 2, .batch_size = 16};
        std::vector<float> shared = plain.global, update(plain.global.size());
        testing::PlainStep step(*plain.network, plain.train, plain.optimizer);
        train_client(step, plan, {}, 1, 2, shard, plain.global, update);
        const std::vector<float> wanted(step.parameters().host().begin(), step.parameters().host().end());
        const ClientResult result = train_hogwild(step, plan, 1, 2, shard, shared);
        CHECK(shared == wanted);  // a single worker trains as without sharing
        CHECK(shared != plain.global);
        CHECK(result.update_norm == 0.0);
        CHECK(result.steps == 8);
        std::vector<float> slower = plain.global;
        train_hogwild(step, plan, 1, 2, shard, slower, 0.5F);
        train_client(step, plan, {0.5F}, 1, 2, shard, plain.global, update);
        CHECK(slower == std::vector<float>(step.parameters().host().begin(), step.parameters().host().end()));
        CHECK(slower != shared);
    }

    TEST_CASE("ClientsTrainedAtOnceAreThoseTrainedAlone") {
        Plain plain;
        Indices all(200);
        std::iota(all.begin(), all.end(), 0U);
        std::vector<RowClient> clients{
            {7, std::span(all).first(50)}, {8, std::span(all).subspan(50, 20)}, {9, std::span(all).subspan(70, 3)}};
        const RoundRate rate{0.5F};
        for (const std::uint64_t local_steps : {0U, 5U}) {
            const LocalTraining plan{.seed = 5, .local_epochs = 3, .batch_size = 16, .local_steps = local_steps};
            testing::PlainRows engine(*plain.network, plain.train, plain.optimizer, 4);
            LocalStep rows(engine);
            std::vector<ClientFigures> figures(clients.size());
            std::vector<ClientResult> together(clients.size());
            for (std::size_t row = 0; row < clients.size(); ++row) clients[row].figures = &figures[row];
            enqueue_clients(rows, plan, rate, 1, clients, plain.global, together);
            for (std::size_t row = 0; row < clients.size(); ++row) {
                const aggregation::ParamSpan local = rows.parameters_of(row);
                aggregation::write_update(local, local, plain.global, figures[row].update);
                finish(together[row], figures[row]);
                testing::PlainStep engine_alone(*plain.network, plain.train, plain.optimizer);
                LocalStep step(engine_alone);
                std::vector<float> update(plain.global.size());
                const ClientResult alone =
                    train_client(step, plan, rate, 1, clients[row].client_id, clients[row].shard, plain.global, update);
                CHECK(std::vector<float>(local.host().begin(), local.host().end()) == update);
                CHECK(together[row].steps == alone.steps);
                CHECK(together[row].train_loss == alone.train_loss);
                CHECK(together[row].update_hash == alone.update_hash);
            }
        }
    }
}
