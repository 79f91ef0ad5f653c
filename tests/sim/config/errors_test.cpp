// Every message for a mistake in a config file, with its place; tests/golden/messages has the wording.
#include "sim/config/rules.h"
#include "sim/modes/mode_spec.h"
#include "tests/sim/config/config_files.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::sim;
using namespace fedhive::sim::testing;

TEST_SUITE_BEGIN("ConfigErrors");

TEST_CASE("MinimalConfigLoads") { CHECK_EQ(error_of(kMinimal), ""); }

TEST_CASE("UnknownKeys") {
    check_errors(
        {
            {"training:\n  optimiser: {lr: 1}\n", "c.yaml:8: training.optimiser"},
            {"training:\n  bacth_size: 3\n", "c.yaml:8: training.bacth_size"},
            {"training:\n  epochs: 3\n", "c.yaml:8: training.epochs"},
            {"Rounds: 3\n", "c.yaml:7: Rounds"},
            {"batch_size: 3\n", "c.yaml:7: batch_size"},
            {"stop: {zzz: 3}\n", "c.yaml:7: stop.zzz"},
            {"zzz: 3\n", "c.yaml:7: zzz"},
            {"strategy: {name: fedprox, mu_x: 1}\n", "c.yaml:7: strategy.mu_x"},
            {"strategy: {name: fedprox, proximalmu: 1}\n", "c.yaml:7: strategy.proximalmu"},
        },
        kMinimal);
    check_errors({{"data:\n  fromat: idx\n  root: x\nmodel: {name: lr}\n", "c.yaml:2: data.fromat"},
                  {"date:\n  format: idx\nmodel: {name: lr}\n", "c.yaml:1: date"}});
}

TEST_CASE("DuplicateKeys") {
    check_errors(
        {
            {"seed: 2\n", "c.yaml:7: seed"},
            {"training:\n  batch_size: 1\n  cohort: 2\n  batch_size: 1\n", "c.yaml:10: training.batch_size"},
            {"base: mnist.yaml\n", "c.yaml:7: base"},
            {"mode: {name: synchronous, name: synchronous}\n", "c.yaml:7: mode.name"},
            {"data: {format: idx}\n", "c.yaml:7: data"},
        },
        kMinimal);
}

TEST_CASE("WrongTypes") {
    check_errors(
        {
            {"rounds: many\n", "c.yaml:7: rounds"},
            {"rounds: 2.5\n", "c.yaml:7: rounds"},
            {"rounds: 2.0\n", "c.yaml:7: rounds"},
            {"rounds: 1e3\n", "c.yaml:7: rounds"},
            {"rounds: \"3\"\n", "c.yaml:7: rounds"},
            {"rounds: 010\n", "c.yaml:7: rounds"},
            {"rounds: 0x10\n", "c.yaml:7: rounds"},
            {"rounds: 1_000\n", "c.yaml:7: rounds"},
            {"rounds:\n", "c.yaml:7: rounds"},
            {"rounds: [3]\n", "c.yaml:7: rounds"},
            {"rounds: {x: 3}\n", "c.yaml:7: rounds"},
            {"mps: 1\n", "c.yaml:7: mps"},
            {"workers: some\n", "c.yaml:7: workers"},
            {"training: 3\n", "c.yaml:7: training"},
            {"training:\n", "c.yaml:7: training"},
            {"training: [cohort]\n", "c.yaml:7: training"},
            {"training: {optimizer: sgd}\n", "c.yaml:7: training.optimizer"},
            {"training: {optimizer: {lr: fast}}\n", "c.yaml:7: training.optimizer.lr"},
            {"training: {optimizer: {lr: '0.1'}}\n", "c.yaml:7: training.optimizer.lr"},
            {"training: {optimizer: {lr: 0.1 5}}\n", "c.yaml:7: training.optimizer.lr"},
            {"training: {optimizer: {lr: -}}\n", "c.yaml:7: training.optimizer.lr"},
            {"training: {optimizer: {nesterov: yes}}\n", "c.yaml:7: training.optimizer.nesterov"},
            {"training: {optimizer: {nesterov: 'true'}}\n", "c.yaml:7: training.optimizer.nesterov"},
            {"training: {cohort: auto}\n", "c.yaml:7: training.cohort"},
            {"name: [a]\n", "c.yaml:7: name"},
            {"name:\n", "c.yaml:7: name"},
            {"device: {a: 1}\n", "c.yaml:7: device"},
        },
        kMinimal);
    const std::string data = "model: {name: lr}\ndata:\n  format: idx\n";
    check_errors({{"  root: [a]\n", "c.yaml:4: data.root"},
                  {"  root: ''\n", "c.yaml:4: data.root"},
                  {"  root: a\n  normalize: {mean: 0.5, std: [1]}\n", "c.yaml:5: data.normalize.mean"},
                  {"  root: a\n  normalize: {mean: [0.5, x], std: [1, 1]}\n", "c.yaml:5: data.normalize.mean[1]"}},
                 data);
}

TEST_CASE("ValuesOutOfRange") {
    check_errors(
        {
            {"rounds: 0\n", "c.yaml:7: rounds"},
            {"rounds: -3\n", "c.yaml:7: rounds"},
            {"rounds: 1000000001\n", "c.yaml:7: rounds"},
            {"rounds: 9223372036854775808\n", "c.yaml:7: rounds"},
            {"workers: -1\n", "c.yaml:7: workers"},
            {"threads: 0\n", "c.yaml:7: threads"},
            {"training: {cohort: 0}\n", "c.yaml:7: training.cohort"},
            {"training: {participation: 0}\n", "c.yaml:7: training.participation"},
            {"training: {participation: 1.5}\n", "c.yaml:7: training.participation"},
            {"training: {batch_size: 0}\n", "c.yaml:7: training.batch_size"},
            {"training: {local_epochs: -1}\n", "c.yaml:7: training.local_epochs"},
            {"training: {clients_per_slot: 0}\n", "c.yaml:7: training.clients_per_slot"},
            {"training: {clients_at_once: 0}\n", "c.yaml:7: training.clients_at_once"},
            {"training: {optimizer: {lr: 0}}\n", "c.yaml:7: training.optimizer.lr"},
            {"training: {optimizer: {lr: -0.1}}\n", "c.yaml:7: training.optimizer.lr"},
            {"training: {optimizer: {lr: 1e-60}}\n", "c.yaml:7: training.optimizer.lr"},
            {"training: {optimizer: {lr: 1e60}}\n", "c.yaml:7: training.optimizer.lr"},
            {"training: {optimizer: {lr: 1e999}}\n", "c.yaml:7: training.optimizer.lr"},
            {"training: {optimizer: {lr: .inf}}\n", "c.yaml:7: training.optimizer.lr"},
            {"training: {optimizer: {lr: nan}}\n", "c.yaml:7: training.optimizer.lr"},
            {"training: {optimizer: {momentum: 1}}\n", "c.yaml:7: training.optimizer.momentum"},
            // In 32 bits this is 1.
            {"training: {optimizer: {momentum: 0.99999999999}}\n", "c.yaml:7: training.optimizer.momentum"},
            {"training: {optimizer: {weight_decay: -1}}\n", "c.yaml:7: training.optimizer.weight_decay"},
            {"evaluation: {every: 0}\n", "c.yaml:7: evaluation.every"},
            {"evaluation: {chunk_size: 0}\n", "c.yaml:7: evaluation.chunk_size"},
            {"stop: {test_accuracy: 99}\n", "c.yaml:7: stop.test_accuracy"},
            {"failures: {deadline_s: 0}\n", "c.yaml:7: failures.deadline_s"},
            {"devices: {compute: {seconds_per_example: 0}}\n", "c.yaml:7: devices.compute.seconds_per_example"},
            {"devices: {compute: {distribution: lognormal, sigma: -1}}\n", "c.yaml:7: devices.compute.sigma"},
            {"devices: {link: {upload: 0.5}}\n", "c.yaml:7: devices.link.upload"},
            {"devices: {link: {download: 1e13}}\n", "c.yaml:7: devices.link.download"},
            {"devices: {link: {distribution: zipf, exponent: 11}}\n", "c.yaml:7: devices.link.exponent"},
            {"devices: {availability: {scheme: probability, probability: 0}}\n", "c.yaml:7: devices.availability.probability"},
            {"devices: {availability: {scheme: probability, period_s: 0}}\n", "c.yaml:7: devices.availability.period_s"},
        },
        kMinimal);
    check_errors({{"seed: -1\n", "c.yaml:1: seed"},
                  {"seed: 18446744073709551616\n", "c.yaml:1: seed"},
                  {"data: {format: glyphs, num_train: 0}\n", "c.yaml:1: data.num_train"},
                  {"data: {format: glyphs, num_test: 0}\n", "c.yaml:1: data.num_test"},
                  {"data: {format: synthetic, num_classes: 1}\n", "c.yaml:1: data.num_classes"},
                  {"data: {format: synthetic, num_features: 0}\n", "c.yaml:1: data.num_features"},
                  {"data: {format: synthetic, separation: 0}\n", "c.yaml:1: data.separation"},
                  {"data: {format: idx, root: x, classes: -1}\n", "c.yaml:1: data.classes"},
                  {"data: {partition: {clients: 0}}\n", "c.yaml:1: data.partition.clients"},
                  {"data: {partition: {sizes: [0.5, 0]}}\n", "c.yaml:1: data.partition.sizes[1]"},
                  {"data: {partition: {scheme: shards, shards_per_client: 0}}\n", "c.yaml:1: data.partition.shards_per_client"},
                  {"data: {partition: {scheme: dirichlet, alpha: 0}}\n", "c.yaml:1: data.partition.alpha"},
                  {"data: {partition: {scheme: dirichlet, min_examples: 0}}\n", "c.yaml:1: data.partition.min_examples"},
                  {"data: {augment: {crop_padding: 1001}}\n", "c.yaml:1: data.augment.crop_padding"},
                  {"data: {normalize: {std: [0]}}\n", "c.yaml:1: data.normalize.std[0]"},
                  {"model: {name: mlp, hidden: 0}\n", "c.yaml:1: model.hidden"}});
}

TEST_CASE("UnknownChoices") {
    check_errors(
        {
            {"device: gpu\n", "c.yaml:7: device"},
            {"training: {precision: f16}\n", "c.yaml:7: training.precision"},
            {"device: tpux9\n", "c.yaml:7: device"},
            {"strategy: {name: FedAvg}\n", "c.yaml:7: strategy.name"},
            {"strategy: {weighting: example}\n", "c.yaml:7: strategy.weighting"},
            {"mode: {name: sync}\n", "c.yaml:7: mode.name"},
            {"failures: {policy: ignore}\n", "c.yaml:7: failures.policy"},
            {"clock: real\n", "c.yaml:7: clock"},
            {"devices: {compute: {distribution: normal}}\n", "c.yaml:7: devices.compute.distribution"},
            {"devices: {availability: {scheme: never}}\n", "c.yaml:7: devices.availability.scheme"},
            {"training: {optimizer: {name: adadelta}}\n", "c.yaml:7: training.optimizer.name"},
            {"training: {lr_schedule: {name: linear}}\n", "c.yaml:7: training.lr_schedule.name"},
        },
        kMinimal);
    check_errors({{"data: {format: glyph}\n", "c.yaml:1: data.format"},
                  {"data: {partition: {scheme: diriclet}}\n", "c.yaml:1: data.partition.scheme"},
                  {"model: {name: mnist-cnn}\n", "c.yaml:1: model.name"},
                  {"model: {name: \"a\\nb\"}\n", "c.yaml:1: model.name"},
                  {"model: {name: " + std::string(70, 'x') + "}\n", "c.yaml:1: model.name"}});
}

TEST_CASE("MissingKeys") {
    check_errors({{"model: {name: lr}\n", "c.yaml: data.format"},
                  {"data: {format: glyphs}\n", "c.yaml: model.name"},
                  {"data: {format: idx}\nmodel: {name: lr}\n", "c.yaml: data.root"},
                  {"data: {root: x}\nmodel: {name: lr}\n", "c.yaml: data.format"}});
    check_errors({{"devices: {availability: {scheme: trace}}\n", "c.yaml: devices.availability.trace"}}, kMinimal);
}

TEST_CASE("KeysOfAnotherChoice") {
    check_errors({{"data: {format: glyphs, root: x}\nmodel: {name: lr}\n", "c.yaml:1: data.root"},
                  {"data: {format: idx, root: x, num_train: 3}\nmodel: {name: lr}\n", "c.yaml:1: data.num_train"},
                  {"data:\n  format: glyphs\n  partition: {alpha: 1}\nmodel: {name: lr}\n", "c.yaml:3: data.partition.alpha"},
                  {"data: {format: glyphs}\nmodel: {name: lr, hidden: 3}\n", "c.yaml:2: model.hidden"},
                  {"data: {format: glyphs}\nmodel: {name: mlp, dropout: true}\n", "c.yaml:2: model.dropout"}});
    check_errors({{"strategy: {name: median, beta1: 0.5}\n", "c.yaml:7: strategy.beta1"},
                  {"strategy: {proximal_mu: 1}\n", "c.yaml:7: strategy.proximal_mu"},
                  {"clock: wall\ndevices:\n  compute: {seconds_per_example: 0}\n", "c.yaml:8: devices"},
                  {"devices:\n  trace: x.csv\n  link: {upload: 5}\n", "c.yaml:9: devices.link"},
                  {"devices:\n  compute: {sigma: 5}\n", "c.yaml:8: devices.compute.sigma"},
                  {"devices:\n  availability: {trace: x.csv}\n", "c.yaml:8: devices.availability.trace"}},
                 kMinimal);
}

TEST_CASE("KeysThatDoNotGoTogether") {
    check_errors(
        {
            {"training:\n  cohort: 2\n  participation: 0.5\n", "c.yaml:9: training.participation"},
            {"training:\n  local_epochs: 1\n  local_steps: 5\n", "c.yaml:9: training.local_steps"},
            {"training: {clients_at_once: 2, optimizer: {name: adam}}\n", "c.yaml:7: training.optimizer.name"},
            {"training: {optimizer: {name: adam}}\nmode: {name: parameter_server}\n", "c.yaml:7: training.optimizer.name"},
            {"training: {optimizer: {name: adagrad, momentum: 0.5}}\n", "c.yaml:7: training.optimizer.momentum"},
            {"training: {lr_schedule: {name: cosine, gamma: 0.5}}\n", "c.yaml:7: training.lr_schedule.gamma"},
            {"training: {clip_norm: 0}\n", "c.yaml:7: training.clip_norm"},
            {"training: {measure: [loss, mse]}\n", "c.yaml:7: training.measure[1]"},
            {"training: {measure: [accuracy]}\nmode: {name: split, cut: fc1}\n", "c.yaml:7: training.measure"},
            {"training:\n  cohort: 5\n", "c.yaml:8: training.cohort"},
            {"training: {clients_per_slot: 6}\n", "c.yaml:7: training.clients_per_slot"},
            {"training: {clients_per_slot: 8, clients_at_once: 6}\n", "c.yaml:7: training.clients_at_once"},
            {"training: {clients_per_slot: 4, clients_at_once: 8}\n", "c.yaml:7: training.clients_at_once"},
            {"training: {clients_at_once: 4}\nmode: {name: async}\n", "c.yaml:7: training.clients_at_once"},
            {"training: {clients_per_slot: 2, clients_at_once: 2, precision: bf16}\n", "c.yaml:7: training.precision"},
            {"training:\n  clients_per_slot: 2\nstrategy: {name: median}\n", "c.yaml:8: training.clients_per_slot"},
            {"training: {graph: true}\nmode: {name: split, cut: fc1}\n", "c.yaml:7: training.graph"},
            {"training: {precision: bf16}\nmode: {name: split, cut: fc1}\n", "c.yaml:7: training.precision"},
            {"mode: {name: semi_async}\n", "c.yaml: mode.quorum"},
            {"mode: {quorum: 5}\n", "c.yaml:7: mode.quorum"},
            {"training: {cohort: 4}\nstrategy: {name: krum, byzantine: 1}\n", "c.yaml:7: training.cohort"},
            {"mode: {name: synchronous, quorum: 2}\nstrategy: {aggregator: krum}\n", "c.yaml:7: mode.quorum"},
            {"strategy: {name: median}\nmode: {name: semi_async, quorum: 2}\n", "c.yaml:8: mode.name"},
            {"training: {clients_per_slot: 2}\nmode: {quorum: 2}\n", "c.yaml:7: training.clients_per_slot"},
            {"strategy: {server_lr: 0.5}\nmode: {name: async}\n", "c.yaml:7: strategy.server_lr"},
            {"mode: {quorum: 2}\nfailures: {min_updates: 3}\n", "c.yaml:8: failures.min_updates"},
            {"mode: {name: async}\nfailures: {min_updates: 2}\n", "c.yaml:8: failures.min_updates"},
            {"training: {optimizer: {nesterov: true}}\n", "c.yaml:7: training.optimizer.nesterov"},
            {"name: a/b\n", "c.yaml:7: name"},
            {"name: ''\n", "c.yaml:7: name"},
            {"name: ..\n", "c.yaml:7: name"},
            {"name: -x\n", "c.yaml:7: name"},
            {"name: " + std::string(101, 'a') + "\n", "c.yaml:7: name"},
        },
        kMinimal);
    const std::string data = "model: {name: lr}\ndata:\n  format: glyphs\n";
    check_errors({{"  normalize: {mean: [0, 0], std: [1]}\n", "c.yaml:4: data.normalize.mean"},
                  {"  normalize: {std: [1]}\n", "c.yaml:4: data.normalize.std"},
                  {"  partition: {clients: 3, sizes: [0.5, 0.5]}\n", "c.yaml:4: data.partition.sizes"},
                  {"  partition: {clients: 2, sizes: [0.5, 0.75]}\n", "c.yaml:4: data.partition.sizes"}},
                 data);
    // In doubles the sum is slightly more than 1.
    CHECK_EQ(error_of(data + "  partition: {clients: 4, sizes: [0.2, 0.4, 0.3, 0.1]}\n"), "");
}

TEST_CASE("ShapeThatNoExampleHas") {
    const std::string data = "model: {name: lr}\ndata:\n  format: synthetic\n";
    check_errors({{"  shape: [3, 0, 4]\n", "c.yaml:4: data.shape[1]"},
                  {"  shape: [3, 32]\n", "c.yaml:4: data.shape"},
                  {"  shape: [3, 1.5, 4]\n", "c.yaml:4: data.shape"},
                  {"  shape: [3, 1000, 1000]\n", "c.yaml:4: data.shape"}},
                 data);
}

TEST_SUITE_END();
