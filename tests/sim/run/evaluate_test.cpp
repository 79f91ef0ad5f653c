// The results of an evaluation of clients, against each of its steps done by hand.
#include "sim/run/evaluate.h"
#include "sim/config/load_config.h"

#include "aggregation/base/random.h"
#include "clients/protocol/watcher.h"
#include "clients/trainers/engine.h"
#include "clients/visit/local_step.h"
#include "clients/visit/local_training.h"
#include "sim/fleet/fleet.h"
#include "tests/support/evaluated.h"
#include "tests/support/proximal.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <fstream>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

/// Three clients, lr over four features, a fresh model; FedProx, whose term is a part of a client's epoch, with a rate that has halved.
LoadedConfig three_clients(const testing::TemporaryFolder& folder) {
    const auto file = folder.path() / "three.yaml";
    std::ofstream(file)
        << "data: {format: synthetic, num_train: 90, num_test: 6, num_features: 4, num_classes: 3, partition: "
           "{clients: 3, holdout: 0.3}}\nmodel: {name: lr}\nrounds: 10\ndevice: cpu\nworkers: 0\n"
           "training: {local_epochs: 4, batch_size: 8, optimizer: {lr: 0.5}, lr_schedule: {name: step, every: 1, "
           "gamma: 0.5}}\nstrategy: {name: fedprox, proximal_mu: 0.1}\n"
           "evaluation: {chunk_size: 4, clients: {every: 1, personalized: true}}\n";
    return load_config(file);
}

/// In passes of four examples.
ClientQuality by_hand(const Experiment& run, clients::Trainer& trainer, aggregation::ConstParamSpan model,
                      std::uint32_t client) {
    const auto held_out = run.data.dataset.held_out(client);
    double loss = 0.0;
    double correct = 0.0;
    trainer.evaluation().begin(model);
    for (std::size_t first = 0; first < held_out.size(); first += 4) {
        const auto part = held_out.subspan(first, std::min<std::size_t>(4, held_out.size() - first));
        const testing::Evaluated result = testing::evaluated(trainer.evaluation(), run.data.dataset.train(), part);
        loss += result.loss_sum;
        correct += result.correct;
    }
    const auto count = static_cast<double>(held_out.size());
    return {client, held_out.size(), loss / count, correct / count};
}

void check_same(const ClientQuality& found, const ClientQuality& wanted) {
    CHECK(found.client_id == wanted.client_id);
    CHECK(found.examples == wanted.examples);
    CHECK(found.loss == wanted.loss);
    CHECK(found.quality == wanted.quality);
}

}  // namespace

TEST_SUITE("EvaluateClients") {
    TEST_CASE("EachModelIsThatOfItsClientOnItsOwnHeldOutExamples") {
        clients::block_interrupts();
        const testing::TemporaryFolder folder;
        const LoadedConfig loaded = three_clients(folder);
        Experiment run = Experiment::to_run(loaded, 10);
        run.server.state.round = 1;
        Fleet fleet(run.fleet_options(), run.worker_plan, *run.resources.arena, run.data.dataset);
        const ClientsTest found = evaluate_clients(fleet, run);
        REQUIRE(found.global.size() == 3);
        REQUIRE(found.personalized.size() == 3);
        const auto trainer = clients::make_trainer(run.worker_plan, run.data.dataset);
        clients::LocalTraining epoch = run.worker_plan.training;
        epoch.local_epochs = 1;
        epoch.seed = Stream(epoch.seed, Purpose::Personalization).next_u64();
        std::vector<float> update(run.model.layout.num_floats());
        for (std::uint32_t client = 0; client < 3; ++client) {
            CHECK(run.data.dataset.held_out(client).size() == 9);
            check_same(found.global[client], by_hand(run, *trainer, run.server.state.model(), client));
            testing::ProximalStep step(trainer->step(), 0.1F, run.model.layout.num_trainable(), run.server.state.model());
            clients::train_client(step.step, epoch, run.server.strategy.rate_in(1), 1, client, run.data.dataset.shard(client),
                                  run.server.state.model(), update);
            const aggregation::ConstParamSpan local(trainer->step().parameters());
            const std::vector<float> own(local.host().begin(), local.host().end());
            check_same(found.personalized[client], by_hand(run, *trainer, own, client));
            CHECK(found.personalized[client].loss != found.global[client].loss);
        }
    }
}
