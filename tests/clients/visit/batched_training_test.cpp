#include "aggregation/base/error.h"
#include "clients/worker/supervised_step.h"
#include "tests/clients/visit/batched_clients.h"

#include <doctest/doctest.h>

#include <limits>

using namespace fedhive;
using namespace fedhive::clients;
using namespace fedhive::testing;

namespace {

void check_same_as_alone(Clients& all, float mu = 0.0F) {
    const auto clients = all.clients(kUnequal);
    const auto results = all.at_once(clients, mu);
    REQUIRE(results.size() == clients.size());
    for (std::size_t k = 0; k < clients.size(); ++k) {
        Floats alone;
        const ClientResult expected = all.alone(clients[k], alone, mu);
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
        for (const std::string name : kTrainedModels) {
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
            check_same_as_alone(all, 0.5F);  // also with the state that the first run left
        }
    }

    TEST_CASE("ANanStaysInItsRow") {
        Clients all("mlp", SgdOptions{0.05F, 0.9F, 0.01F, false});
        const auto clients = all.clients(kUnequal);
        const auto before = all.at_once(clients);
        WorkerCell cell;
        Supervision supervision(
            cell, [] { return false; }, false);
        SupervisedStep step(all.batched, supervision);
        std::vector<InjectedFault> faults(clients.size());
        faults[3].kind = FaultKind::Nan;
        supervision.expect(faults, 0, [](std::size_t) {});
        const auto after = train_rows(step, all.plan, {}, all.round, clients, all.global);
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

    TEST_CASE("StepOfNobodyIsAFault") {
        Clients all("lr");
        ClientStart start;
        start.rows = 3;
        start.global = all.global;
        all.batched.begin(start);
        const std::vector<RowBatch> nobody(3);
        CHECK_THROWS_WITH_AS(all.batched.compute_gradients(nobody), doctest::Contains("a step of nobody"), Fault);
    }

    TEST_CASE("LossOfARowAtRestStaysWhateverItsScoresAre") {
        Clients all("lr");
        const auto clients = all.clients({4, 4, 4});
        ClientStart start;
        start.rows = 3;
        start.global = all.global;
        all.batched.begin(start);
        const std::vector<RowBatch> everybody{{clients[0].shard}, {clients[1].shard}, {clients[2].shard}};
        all.batched.step_rows(everybody);
        const double loss = all.batched.loss_of(1);
        const auto weights = all.batched.parameters_of(1).host();
        for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = i % 2 == 0 ? 3e38F : -3e38F;  // finite, but sums overflow
        all.batched.step_rows(std::vector<RowBatch>{{clients[0].shard}, {}, {clients[2].shard}});
        CHECK(all.batched.loss_of(1) == loss);
    }

    TEST_CASE("DropoutDrawsForEachRowItsOwnAndFollowsTheKeys") {
        for (const std::string_view name : {"mnist_cnn", "cnn_m"}) {
            CAPTURE(name);
            Clients all(name, SgdOptions{0.1F, 0.0F, 0.0F, false}, true);
            all.plan = {5, 1, 1};
            // Two clients with the same single example differ only by dropout.
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
        CHECK(results[1].gather_s == doctest::Approx(3.0 * results[0].gather_s));
        CHECK(results[1].start_ns ==
              doctest::Approx(static_cast<double>(results[0].start_ns) + 1e9 * results[0].seconds).epsilon(1e-9));
    }
}

namespace {

/// The blamed rows, in order; row 1 is blamed for faults of no row.
struct Supervised {
    void run(InjectedFault fault, bool stop = false) {
        Clients all("lr");
        WorkerCell cell;
        Supervision supervision(
            cell,
            [&, stop] {
                ++asked;
                return stop;
            },
            false);
        SupervisedStep step(all.batched, supervision);
        const auto clients = all.clients({8, 8, 8});
        std::vector<InjectedFault> faults(3);
        faults[2] = fault;
        supervision.expect(faults, 1, [this](std::size_t row) { blamed.push_back(row); });
        train_rows(step, all.plan, {}, 0, clients, all.global);
        heartbeat = cell.heartbeat_ns;
        for (std::size_t row = 0; row < 3; ++row) {
            written = row;
            supervision.update_written(row, step.parameters_of(row));
        }
    }
    std::vector<std::size_t> blamed;
    std::size_t written = 99;
    int asked = 0;
    std::int64_t heartbeat = 0;
};

}  // namespace

TEST_SUITE("SupervisedRows") {
    TEST_CASE("AsksInEveryStepAndStops") {
        Supervised calm;
        calm.run({});
        CHECK(calm.asked == 4);
        CHECK(calm.heartbeat > 0);
        CHECK(calm.blamed.empty());
        Supervised stopped;
        CHECK_THROWS_WITH_AS(stopped.run({}, true), "stopped", TaskFailed);
    }

    TEST_CASE("FaultIsBlamedOnItsRowAndWhatFollowsOnTheBlamedRow") {
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
