#include "clients/training/batched_training.h"

#include "aggregation/base/error.h"
#include "clients/data/glyphs.h"
#include "clients/training/libtorch_batched_step.h"
#include "clients/training/libtorch_step.h"
#include "clients/training/supervised_batched_step.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

using namespace fedhive;
using namespace fedhive::clients;
using aggregation::MemorySpace;
using aggregation::SgdOptions;

namespace {

using Floats = std::vector<float>;

/// Clients of unequal shards, trained one at a time or at once.
struct Clients {
    explicit Clients(std::string_view name, SgdOptions options = {0.05F, 0.0F, 0.0F, false}, bool dropout = false)
        : train{glyphs().train.shape, glyphs().train.values, glyphs().train.labels},
          spec(model_spec(name, dropout)),
          model(spec, MemorySpace::Host),
          step(model, train, {}, options),
          batched(spec, 8, MemorySpace::Host, train, {}, options),
          global(model.layout().num_floats(), 0.0F) {
        prepare_libtorch(1);
        initial_parameters(spec, model.layout(), 3, global);
    }

    static const Dataset& glyphs() {
        static const Dataset dataset = draw_glyphs(200, 10, 1);
        return dataset;
    }
    ModelSpec model_spec(std::string_view name, bool dropout) const {
        ModelSpec result;
        result.name.set(name);
        result.input = glyphs().train.shape;
        result.num_classes = 10;
        result.hidden = 16;
        result.dropout = dropout;
        return result;
    }

    /// Client k has sizes[k] examples, one after the other.
    std::vector<RowClient> clients(const std::vector<std::size_t>& sizes) {
        indices.resize(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}));
        std::iota(indices.begin(), indices.end(), 0U);
        std::vector<RowClient> result;
        std::size_t first = 0;
        for (const std::size_t size : sizes) {
            result.push_back({static_cast<std::uint32_t>(10 + result.size()), std::span(indices).subspan(first, size)});
            first += size;
        }
        return result;
    }

    ClientResult alone(const RowClient& client, Floats& update, Objective objective = {}) {
        update.assign(global.size(), 0.0F);
        return train_client(step, plan, objective, round, client.client_id, client.shard, global, update);
    }
    std::vector<ClientResult> at_once(std::span<const RowClient> clients, Objective objective = {}) {
        return train_clients(batched, plan, objective, round, clients, global);
    }
    Floats update(std::size_t row) {
        const auto span = batched.parameters(row).host();
        return {span.begin(), span.end()};
    }

    ExamplesView train;
    ModelSpec spec;
    FlatModel model;
    LibtorchStep step;
    LibtorchBatchedStep batched;
    Floats global;
    std::vector<std::uint32_t> indices;
    LocalTraining plan{5, 2, 4};
    std::uint32_t round = 7;
};

double largest_difference(const Floats& a, const Floats& b) {
    double largest = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(static_cast<double>(a[i]) - b[i]));
    return largest;
}

/// No shard divides the batch size but one; one client has a single example.
const std::vector<std::size_t> kUnequal{13, 1, 8, 5, 30};

void check_same_as_alone(Clients& all, Objective objective = {}) {
    const auto clients = all.clients(kUnequal);
    const auto results = all.at_once(clients, objective);
    REQUIRE(results.size() == clients.size());
    for (std::size_t k = 0; k < clients.size(); ++k) {
        Floats alone;
        const ClientResult expected = all.alone(clients[k], alone, objective);
        CAPTURE(k);
        CHECK(results[k].steps == expected.steps);
        CHECK(results[k].finite == 1);
        CHECK(results[k].train_loss == doctest::Approx(expected.train_loss).epsilon(1e-5));
        CHECK(results[k].update_norm == doctest::Approx(expected.update_norm).epsilon(1e-4));
        CHECK(largest_difference(all.update(k), alone) < 1e-4 * expected.update_norm + 1e-6);
    }
}

}  // namespace

TEST_SUITE("BatchedTraining") {
    TEST_CASE("EveryModelIsTrainedAsOneAtATime") {
        for (const std::string_view name : kModelNames) {
            CAPTURE(name);
            Clients all(name);
            check_same_as_alone(all);
        }
    }

    TEST_CASE("EveryTermOfTheOptimiserIsARowsOwn") {
        for (const SgdOptions& options : {SgdOptions{0.05F, 0.9F, 0.0F, false}, SgdOptions{0.05F, 0.0F, 0.1F, false},
                                          SgdOptions{0.05F, 0.9F, 0.1F, false}, SgdOptions{0.05F, 0.5F, 0.01F, true}}) {
            Clients all("mlp", options);
            check_same_as_alone(all);
            check_same_as_alone(all, {0.5F});  // and with what the first ones left behind
        }
    }

    TEST_CASE("ARowsBitsDoNotDependOnTheOthersValues") {
        for (const std::string_view name : kModelNames) {
            CAPTURE(name);
            Clients all(name, {0.05F, 0.9F, 0.01F, false});
            auto clients = all.clients(kUnequal);
            const auto before = all.at_once(clients);
            const auto again = all.at_once(clients);
            // Others, with shards of the same sizes.
            std::vector<std::uint32_t> other(100);
            std::iota(other.begin(), other.end(), 100U);
            std::size_t first = 0;
            for (const std::size_t k : {0U, 1U, 3U, 4U}) {
                clients[k].shard = std::span(other).subspan(first, clients[k].shard.size());
                clients[k].client_id += 50;
                first += clients[k].shard.size();
            }
            const auto after = all.at_once(clients);
            for (std::size_t k = 0; k < clients.size(); ++k) {
                CAPTURE(k);
                CHECK(again[k].update_hash == before[k].update_hash);
                CHECK((after[k].update_hash == before[k].update_hash) == (k == 2));
            }
        }
    }

    TEST_CASE("ANanStaysInItsRow") {
        Clients all("mlp", {0.05F, 0.9F, 0.01F, false});
        const auto clients = all.clients(kUnequal);
        const auto before = all.at_once(clients);
        WorkerCell cell;
        SupervisedBatchedStep step(
            all.batched, cell, [] { return false; }, false);
        std::vector<InjectedFault> faults(clients.size());
        faults[3].kind = FaultKind::Nan;
        step.expect(faults, 0, [](std::size_t) {});
        const auto after = train_clients(step, all.plan, {}, all.round, clients, all.global);
        for (std::size_t k = 0; k < clients.size(); ++k) {
            CHECK(after[k].finite == (k == 3 ? 0 : 1));
            CHECK((after[k].update_hash == before[k].update_hash) == (k != 3));
        }
    }

    TEST_CASE("MostStepsComeFirstAndEqualOnesInTheOrderGiven") {
        const std::vector<std::uint32_t> examples(30, 0U);
        const auto client = [&](std::uint32_t id, std::size_t size) { return RowClient{id, std::span(examples).first(size)}; };
        const std::vector<RowClient> clients{client(3, 9), client(4, 30), client(4, 10), client(7, 21), client(9, 25)};
        LocalTraining plan;
        plan.batch_size = 10;
        CHECK(places_of_rows(plan, clients) == std::vector<std::size_t>{1, 3, 4, 0, 2});
    }

    TEST_CASE("RowWithoutABatchRests") {
        Clients all("lr", {0.05F, 0.9F, 0.1F, true});
        const auto clients = all.clients({4, 4, 4});
        BatchedStart start;
        start.rows = 3;
        start.global = all.global;
        start.objective.proximal_mu = 0.5F;
        all.batched.begin(start);
        const std::vector<RowBatch> both{clients[0].shard, clients[1].shard, clients[2].shard};
        all.batched.step(both);
        const Floats rested = all.update(1), moved = all.update(0);
        std::vector<double> losses(3), losses_after(3);
        all.batched.loss_sums(losses);
        const std::vector<RowBatch> not_the_second{clients[0].shard, {}, clients[2].shard};
        all.batched.step(not_the_second);
        all.batched.loss_sums(losses_after);
        CHECK(all.update(1) == rested);
        CHECK(all.update(0) != moved);
        CHECK(losses_after[1] == losses[1]);
        CHECK(losses_after[0] > losses[0]);
        const std::vector<RowBatch> nobody(3);
        CHECK_THROWS_WITH_AS(all.batched.compute_gradients(nobody), doctest::Contains("a step of nobody"), Fault);
    }

    TEST_CASE("DropoutDrawsForEachRowItsOwnAndFollowsTheKeys") {
        for (const std::string_view name : {"mnist_cnn", "cnn_m"}) {
            CAPTURE(name);
            Clients all(name, {0.1F, 0.0F, 0.0F, false}, true);
            all.plan = {5, 1, 1};
            // Two clients with the same single example: only dropout tells them apart.
            const std::vector<std::uint32_t> example{3};
            const std::vector<RowClient> clients{{1, example}, {2, example}};
            const auto first = all.at_once(clients);
            CHECK(first[0].update_hash != first[1].update_hash);
            CHECK(all.at_once(clients)[1].update_hash == first[1].update_hash);
            all.round = 8;
            CHECK(all.at_once(clients)[1].update_hash != first[1].update_hash);
        }
    }

    TEST_CASE("TimeIsDealtOutBySteps") {
        Clients all("lr");
        const auto results = all.at_once(all.clients({8, 24}));
        CHECK(results[1].seconds == doctest::Approx(3.0 * results[0].seconds));
        CHECK(results[1].start_ns ==
              doctest::Approx(static_cast<double>(results[0].start_ns) + 1e9 * results[0].seconds).epsilon(1e-9));
    }
}

namespace {

/// Who was blamed, in order; row 1 is at home.
struct Supervised {
    void run(InjectedFault fault, bool stop = false) {
        Clients all("lr");
        WorkerCell cell;
        SupervisedBatchedStep step(
            all.batched, cell,
            [&, stop] {
                ++asked;
                return stop;
            },
            false);
        const auto clients = all.clients({8, 8, 8});
        std::vector<InjectedFault> faults(3);
        faults[2] = fault;
        step.expect(faults, 1, [this](std::size_t row) { blamed.push_back(row); });
        train_clients(step, all.plan, {}, 0, clients, all.global);
        heartbeat = cell.heartbeat_ns;
        for (std::size_t row = 0; row < 3; ++row) {
            written = row;
            step.update_written(row);
        }
    }
    std::vector<std::size_t> blamed;
    std::size_t written = 99;
    int asked = 0;
    std::int64_t heartbeat = 0;
};

}  // namespace

TEST_SUITE("SupervisedBatchedStep") {
    TEST_CASE("AsksInEveryStepAndStops") {
        Supervised calm;
        calm.run({});
        CHECK(calm.asked == 4);
        CHECK(calm.heartbeat > 0);
        CHECK(calm.blamed.empty());
        Supervised stopped;
        CHECK_THROWS_WITH_AS(stopped.run({}, true), "stopped", TaskFailed);
    }

    TEST_CASE("FaultIsBlamedOnItsRowAndAfterwardsTheOneAtHomeIs") {
        Supervised thrown;
        CHECK_THROWS_WITH_AS(thrown.run({FaultKind::Throw}), doctest::Contains("injected"), TaskFailed);
        CHECK(thrown.blamed == std::vector<std::size_t>{2});
        CHECK(thrown.asked == 0);
        Supervised slow;
        slow.run({FaultKind::Slow, 0, 0.01});
        CHECK(slow.blamed == std::vector<std::size_t>{2, 1});
        Supervised memory;
        CHECK_THROWS_AS(memory.run({FaultKind::OutOfMemory}), OutOfMemory);
    }

    TEST_CASE("FaultAtTheUpdateWaitsForIt") {
        Supervised late;
        CHECK_THROWS_WITH_AS(late.run({FaultKind::Throw, 1}), doctest::Contains("injected"), TaskFailed);
        CHECK(late.written == 2);
        CHECK(late.asked == 4);
    }
}
