// Mode gradient_averaging: replicas in several processes take the same steps as one process with all their batches.
#include "aggregation/math/mean.h"
#include "clients/data/distributed_sampler.h"
#include "tests/process/mode_runs.h"

using namespace fedhive;
using namespace fedhive::testing;

namespace {

Options averaging(const std::string& workers, const Options& more = {}) {
    Options all{"mode={name: gradient_averaging}", "workers=" + workers};
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

/// Reference: one model and optimiser; each step adds the gradients of all replicas' batches in the tree's order.
std::vector<float> accumulated(const Options& assignments) {
    const Rehearsal rehearsal(assignments);
    const auto& plan = rehearsal.run.worker_plan.training;
    const std::size_t num_train = rehearsal.run.data.dataset.map().num_train;
    const auto ranks = static_cast<std::uint32_t>(rehearsal.run.data.dataset.map().num_clients);
    const auto passes = static_cast<std::uint32_t>(rehearsal.run.config.rounds) * static_cast<std::uint32_t>(plan.local_epochs);
    clients::TrainingStep& step = rehearsal.begin();
    aggregation::SlotSum sum(step.one_row()->gradient().size, aggregation::MemorySpace::Host);
    for (std::uint32_t pass = 0; pass < passes; ++pass) {
        std::vector<Batches> of_rank;
        for (std::uint32_t rank = 0; rank < ranks; ++rank)
            of_rank.push_back(
                batches_of(clients::distributed_sample(num_train, plan.seed, pass, {rank, ranks}), plan.batch_size));
        for (std::size_t i = 0; i < of_rank.front().size(); ++i) {
            sum.zero_init();
            for (const Batches& batches : of_rank) {
                step.compute_gradient(batches[i]);
                sum.add(step.one_row()->gradient(), 1.0);
            }
            sum.finish(step.one_row()->gradient());
            aggregation::scale(step.one_row()->gradient(), step.one_row()->gradient(), 1.0 / ranks);
            step.apply_gradients();
        }
    }
    return rehearsal.parameters();
}

/// Checks that a run's model equals accumulated(); returns its hash.
std::string check_accumulated(const Options& assignments) {
    const auto expected = accumulated(assignments);
    const Rehearsal rehearsal(assignments);
    const ModeRun run(assignments);
    CHECK((run.model(rehearsal.run.model.layout) == expected));
    CHECK((expected != rehearsal.model));
    return run.hash();
}

}  // namespace

TEST_SUITE("ModesReplicas") {
    TEST_CASE("EqualsOneProcessThatAccumulatesForAnyNumberOfWorkersAndRepeatsForARing") {
        const std::string tree = check_accumulated(averaging("4"));
        CHECK(mode_hash(averaging("5")) == tree);
        CHECK(mode_hash(averaging("6", {"mode.all_reduce=star"})) == tree);
        const std::string ring = mode_hash(averaging("4", {"mode.all_reduce=ring"}));
        CHECK(ring != tree);
        CHECK(mode_hash(averaging("5", {"mode.all_reduce=ring"})) == ring);
    }

    TEST_CASE("EqualsOneProcessThatAccumulatesWithOtherOptimisersModelsAndNumbersOfReplicas") {
        check_accumulated(
            averaging("3", {"data.partition.clients=3", "training.optimizer={lr: 0.1, momentum: 0, weight_decay: 0.01}"}));
        check_accumulated(
            averaging("2", {"data.partition.clients=2", "model={name: mnist_cnn, dropout: false}", "rounds=2",
                            "training.local_epochs=2", "training.optimizer={lr: 0.05, momentum: 0.9, nesterov: true}"}));
    }

    TEST_CASE("OneReplicaIsPlainSgd") {
        for (const char* workers : {"0", "2"}) check_accumulated(averaging(workers, {"data.partition.clients=1"}));
    }

    TEST_CASE("EveryReplicaHasItsOwnLossAndTheSameModel") {
        const ModeRun run(averaging("4", {"rounds=1", "mode.all_reduce=ring"}));
        CHECK(run.column("clients.csv", "client_id") == std::vector<std::string>{"0", "1", "2", "3"});
        CHECK(run.column("clients.csv", "steps") == std::vector<std::string>(4, "10"));  // 151 examples in batches of 16
        CHECK(run.column("clients.csv", "num_examples") == std::vector<std::string>(4, "151"));
        const auto hashes = run.column("clients.csv", "update_hash");
        CHECK(hashes == std::vector<std::string>(4, hashes.front()));
        const auto losses = run.column("clients.csv", "train_loss");
        CHECK(losses[0] != losses[1]);
    }

    TEST_CASE("ReplicasKilledInARoundEndAsThoseThatWereNot") {
        // The checkpoint contains the momentum.
        const Options options = averaging("4", {"rounds=12", "training.local_epochs=5", "checkpoint.every=2"});
        const ModeRun whole(options);
        const KilledRun killed(options, 3);
        check_same_run(killed.out(), whole.out());
    }
}
