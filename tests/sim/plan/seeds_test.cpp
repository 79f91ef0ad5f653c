// Each key of `seeds` changes the draws that it names, and no others.
#include "clients/protocol/watcher.h"
#include "sim/config/load_config.h"
#include "sim/fleet/fleet.h"
#include "sim/plan/experiment.h"
#include "sim/run/round_loop.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <bit>
#include <fstream>
#include <map>
#include <set>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

using Numbers = std::vector<std::uint64_t>;
using Draws = std::map<std::string, Numbers>;  // by the draws that a key of `seeds` names

/// Trains nobody; keeps the order of the examples and the seed of dropout.
class OrderOnly : public clients::OneRowStep<> {
public:
    explicit OrderOnly(std::size_t num_floats) : parameters_(num_floats) {}
    aggregation::ParamSpan parameters_of(std::size_t) override { return parameters_; }
    aggregation::ParamSpan gradient() override { return {}; }
    aggregation::ParamSpan optimizer_state() override { return {}; }
    void begin(const clients::ClientStart& start) override { seen.push_back(start.dropout_seed); }
    void compute_gradients(std::span<const clients::RowBatch> batches) override {
        const std::span<const std::uint32_t> batch = clients::only_batch(batches).examples;
        seen.insert(seen.end(), batch.begin(), batch.end());
    }
    void apply_gradients() override {}
    double loss_of(std::size_t) override { return 0.0; }

    Numbers seen;

private:
    std::vector<float> parameters_;
};

Numbers shards_of(const clients::SharedDataset& dataset) {
    Numbers shards;
    for (std::size_t client = 0; client < dataset.map().num_clients; ++client) {
        shards.push_back(dataset.shard(client).size());
        shards.insert(shards.end(), dataset.shard(client).begin(), dataset.shard(client).end());
    }
    return shards;
}

Numbers first_model(const Experiment& run) {
    Numbers bits;
    for (const float value : run.server.global_model().host()) bits.push_back(std::bit_cast<std::uint32_t>(value));
    return bits;
}

/// Orders of examples, for clients whose shards are replaced by equal positions.
Numbers orders(const Experiment& run) {
    OrderOnly step(run.model.layout.num_floats());
    const std::vector<float> global(run.model.layout.num_floats());
    std::vector<float> update(run.model.layout.num_floats());
    const Numbers positions{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    const std::vector<std::uint32_t> shard(positions.begin(), positions.end());
    for (std::uint32_t client = 0; client < 3; ++client)
        train_client(step, run.worker_plan.training, {}, 1, client, shard, global, update);
    return step.seen;
}

/// Device times, availability, samples of two rounds, and the sampled clients that a fault drops.
Numbers participants(Experiment& run) {
    Numbers all;
    for (std::uint32_t client = 0; client < run.data.dataset.map().num_clients; ++client) {
        all.push_back(std::bit_cast<std::uint64_t>(run.devices.round_trip_s(client, 100, 1000, 1000)));
        all.push_back(run.devices.available(client, 0.0) ? 1 : 0);
    }
    Fleet fleet(run.fleet_options(), run.worker_plan, *run.resources.arena, run.data.dataset);
    for (int i = 0; i < 2; ++i) {
        RoundRecord round;
        for (const ClientReport& client : run_round(run, fleet, round).clients)
            all.insert(all.end(), {client.client_id, client.failure ? 1U : 0U});
        ++run.server.state.round;
    }
    return all;
}

Draws draws_of(const std::vector<std::string>& overrides) {
    const testing::TemporaryFolder folder;
    std::ofstream(folder.path() / "run.yaml") << R"(
seed: 11
workers: 0
device: cpu
data: {format: synthetic, num_train: 300, num_test: 10, partition: {scheme: iid, clients: 20}}
model: {name: lr}
training: {cohort: 6, batch_size: 4}
failures: {policy: drop}
faults: [{kind: drop, rate: 0.4}]
devices:
    compute: {distribution: lognormal}
    link: {distribution: zipf}
    availability: {scheme: probability, probability: 0.7}
)";
    clients::block_interrupts();
    const LoadedConfig loaded = load_config(folder.path() / "run.yaml", overrides);
    Experiment run = Experiment::to_inspect(loaded);
    Draws draws{{"data", {run.data.fingerprint}},
                {"partition", shards_of(run.data.dataset)},
                {"model", first_model(run)},
                {"training", orders(run)}};
    draws["sampling"] = participants(run);
    return draws;
}

std::set<std::string> differing(const Draws& left, const Draws& right) {
    std::set<std::string> names;
    for (const auto& [name, numbers] : left)
        if (right.at(name) != numbers) names.insert(name);
    return names;
}

}  // namespace

TEST_SUITE("Seeds") {
    TEST_CASE("EachChangesWhatItNamesAndNothingElse") {
        const Draws before = draws_of({});
        for (const auto& [name, numbers] : before) {
            CAPTURE(name);
            CHECK(differing(before, draws_of({"seeds." + name + "=12"})) == std::set<std::string>{name});
        }
        CHECK(differing(before, draws_of({"seed=12"})).size() == before.size());
    }

    TEST_CASE("WhatIsNotGivenFollowsTheSeed") {
        CHECK(differing(draws_of({}), draws_of({"seeds={data: 11, partition: 11, model: 11, sampling: 11, training: 11}"}))
                  .empty());
        CHECK(differing(draws_of({"seeds={data: 3, partition: 3}"}), draws_of({"seed=3"})) ==
              std::set<std::string>{"model", "sampling", "training"});
    }
}
