// Every message a mistake in a config file can give, to the letter.
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
            {"training:\n  optimiser: {lr: 1}\n", "c.yaml:8: training.optimiser: unknown key; did you mean 'optimizer'?"},
            {"training:\n  bacth_size: 3\n", "c.yaml:8: training.bacth_size: unknown key; did you mean 'batch_size'?"},
            {"training:\n  epochs: 3\n", "c.yaml:8: training.epochs: unknown key; did you mean 'local_epochs'?"},
            {"Rounds: 3\n", "c.yaml:7: Rounds: unknown key; did you mean 'rounds'?"},
            {"batch_size: 3\n", "c.yaml:7: batch_size: unknown key; did you mean 'training.batch_size'?"},
            {"stop: {zzz: 3}\n", "c.yaml:7: stop.zzz: unknown key; known keys: test_accuracy, test_top5_accuracy"},
            {"zzz: 3\n",
             "c.yaml:7: zzz: unknown key; known keys: name, seed, rounds, device, workers, mps, threads, client_state, clock, "
             "task, seeds, "
             "data, "
             "model, "
             "training, sampling, strategy, upload, mode, evaluation, stop, failures, checkpoint, faults, devices"},
            {"strategy: {name: fedprox, mu_x: 1}\n",
             "c.yaml:7: strategy.mu_x: unknown key; known keys: name, weighting, local, proximal_mu, aggregator, server, "
             "server_lr"},
            {"strategy: {name: fedprox, proximalmu: 1}\n",
             "c.yaml:7: strategy.proximalmu: unknown key; did you mean 'proximal_mu'?"},
        },
        kMinimal);
    check_errors(
        {{"data:\n  fromat: idx\n  root: x\nmodel: {name: lr}\n", "c.yaml:2: data.fromat: unknown key; did you mean 'format'?"},
         {"date:\n  format: idx\nmodel: {name: lr}\n", "c.yaml:1: date: unknown key; did you mean 'data'?"}});
}

TEST_CASE("DuplicateKeys") {
    check_errors(
        {
            {"seed: 2\n", "c.yaml:7: seed: given twice, first on line 1; keep one"},
            {"training:\n  batch_size: 1\n  cohort: 2\n  batch_size: 1\n",
             "c.yaml:10: training.batch_size: given twice, first on line 8; keep one"},
            {"base: mnist.yaml\n",
             "c.yaml:7: base: belongs to a sweep, which is more than one run; call: fedhive sweep c.yaml"},
            {"mode: {name: synchronous, name: synchronous}\n", "c.yaml:7: mode.name: given twice, first on line 7; keep one"},
            {"data: {format: idx}\n", "c.yaml:7: data: given twice, first on line 2; keep one"},
        },
        kMinimal);
}

TEST_CASE("WrongTypes") {
    check_errors(
        {
            {"rounds: many\n", "c.yaml:7: rounds: wants an integer, found 'many'; allowed: 1 to 1e9"},
            {"rounds: 2.5\n", "c.yaml:7: rounds: wants an integer, found '2.5'; allowed: 1 to 1e9"},
            {"rounds: 2.0\n", "c.yaml:7: rounds: wants an integer, found '2.0'; allowed: 1 to 1e9; write 2"},
            {"rounds: 1e3\n", "c.yaml:7: rounds: wants an integer, found '1e3'; allowed: 1 to 1e9; write 1000"},
            {"rounds: \"3\"\n",
             "c.yaml:7: rounds: wants an integer, found the string \"3\"; allowed: 1 to 1e9; take the quotes off"},
            {"rounds: 010\n", "c.yaml:7: rounds: wants an integer, found '010'; allowed: 1 to 1e9; write 10"},
            {"rounds: 0x10\n", "c.yaml:7: rounds: wants an integer, found '0x10'; allowed: 1 to 1e9"},
            {"rounds: 1_000\n", "c.yaml:7: rounds: wants an integer, found '1_000'; allowed: 1 to 1e9"},
            {"rounds:\n", "c.yaml:7: rounds: wants an integer, found nothing; allowed: 1 to 1e9"},
            {"rounds: [3]\n", "c.yaml:7: rounds: wants an integer, found a list; allowed: 1 to 1e9"},
            {"rounds: {x: 3}\n", "c.yaml:7: rounds: wants an integer, found a map; allowed: 1 to 1e9"},
            {"mps: 1\n", "c.yaml:7: mps: unknown value '1'; allowed: auto, on, off; did you mean 'on'?"},
            {"workers: some\n", "c.yaml:7: workers: wants an integer, found 'some'; allowed: auto, 0 to 1024"},
            {"training: 3\n", "c.yaml:7: training: wants keys below it, found '3'"},
            {"training:\n", "c.yaml:7: training: wants keys below it, found nothing; write them or take the line out"},
            {"training: [cohort]\n", "c.yaml:7: training: wants keys below it, found a list"},
            {"training: {optimizer: sgd}\n",
             "c.yaml:7: training.optimizer: wants keys below it, found 'sgd'; write optimizer: {name: sgd}"},
            {"training: {optimizer: {lr: fast}}\n",
             "c.yaml:7: training.optimizer.lr: wants a number, found 'fast'; allowed: above 0"},
            {"training: {optimizer: {lr: '0.1'}}\n",
             "c.yaml:7: training.optimizer.lr: wants a number, found the string \"0.1\"; allowed: above 0; take the quotes "
             "off"},
            {"training: {optimizer: {lr: 0.1 5}}\n",
             "c.yaml:7: training.optimizer.lr: wants a number, found '0.1 5'; allowed: above 0"},
            {"training: {optimizer: {lr: -}}\n",
             "c.yaml:7: training.optimizer.lr: wants a number, found '-'; allowed: above 0"},
            {"training: {optimizer: {nesterov: yes}}\n",
             "c.yaml:7: training.optimizer.nesterov: wants true or false, found 'yes'"},
            {"training: {optimizer: {nesterov: 'true'}}\n",
             "c.yaml:7: training.optimizer.nesterov: wants true or false, found the string \"true\"; take the quotes off"},
            {"training: {cohort: auto}\n", "c.yaml:7: training.cohort: wants an integer, found 'auto'; allowed: 1 to 1e9"},
            {"name: [a]\n", "c.yaml:7: name: wants a word, found a list"},
            {"name:\n", "c.yaml:7: name: wants a word, found nothing"},
            {"device: {a: 1}\n", "c.yaml:7: device: wants a word, found a map; allowed: auto, cpu, cuda"},
        },
        kMinimal);
    const std::string data = "model: {name: lr}\ndata:\n  format: idx\n";
    check_errors({{"  root: [a]\n", "c.yaml:4: data.root: wants a path, found a list"},
                  {"  root: ''\n", "c.yaml:4: data.root: is empty; write a path"},
                  {"  root: a\n  normalize: {mean: 0.5, std: [1]}\n",
                   "c.yaml:5: data.normalize.mean: wants a list of numbers, found '0.5'; allowed: -1000 to 1000; write [0.5]"},
                  {"  root: a\n  normalize: {mean: [0.5, x], std: [1, 1]}\n",
                   "c.yaml:5: data.normalize.mean[1]: wants a number, found 'x'; allowed: -1000 to 1000"}},
                 data);
}

TEST_CASE("ValuesOutOfRange") {
    check_errors(
        {
            {"rounds: 0\n", "c.yaml:7: rounds: 0 is out of range; allowed: 1 to 1e9"},
            {"rounds: -3\n", "c.yaml:7: rounds: -3 is out of range; allowed: 1 to 1e9"},
            {"rounds: 1000000001\n", "c.yaml:7: rounds: 1000000001 is out of range; allowed: 1 to 1e9"},
            {"rounds: 9223372036854775808\n",
             "c.yaml:7: rounds: 9223372036854775808 does not fit in 64 bits; allowed: 1 to 1e9"},
            {"workers: -1\n", "c.yaml:7: workers: -1 is out of range; allowed: auto, 0 to 1024"},
            {"threads: 0\n", "c.yaml:7: threads: 0 is out of range; allowed: 1 to 1024"},
            {"training: {cohort: 0}\n", "c.yaml:7: training.cohort: 0 is out of range; allowed: 1 to 1e9"},
            {"training: {participation: 0}\n",
             "c.yaml:7: training.participation: 0 is out of range; allowed: above 0, at most 1"},
            {"training: {participation: 1.5}\n",
             "c.yaml:7: training.participation: 1.5 is out of range; allowed: above 0, at most 1"},
            {"training: {batch_size: 0}\n", "c.yaml:7: training.batch_size: 0 is out of range; allowed: 1 to 1e9"},
            {"training: {local_epochs: -1}\n", "c.yaml:7: training.local_epochs: -1 is out of range; allowed: 1 to 1e9"},
            {"training: {clients_per_slot: 0}\n",
             "c.yaml:7: training.clients_per_slot: 0 is out of range; allowed: auto, 1 to 1048576"},
            {"training: {clients_at_once: 0}\n",
             "c.yaml:7: training.clients_at_once: 0 is out of range; allowed: 1 to 1048576"},
            {"training: {optimizer: {lr: 0}}\n", "c.yaml:7: training.optimizer.lr: 0 is out of range; allowed: above 0"},
            {"training: {optimizer: {lr: -0.1}}\n", "c.yaml:7: training.optimizer.lr: -0.1 is out of range; allowed: above 0"},
            {"training: {optimizer: {lr: 1e-60}}\n",
             "c.yaml:7: training.optimizer.lr: 1e-60 does not fit in 32-bit floating point; allowed: above 0"},
            {"training: {optimizer: {lr: 1e60}}\n",
             "c.yaml:7: training.optimizer.lr: 1e60 does not fit in 32-bit floating point; allowed: above 0"},
            {"training: {optimizer: {lr: 1e999}}\n",
             "c.yaml:7: training.optimizer.lr: 1e999 does not fit in 32-bit floating point; allowed: above 0"},
            {"training: {optimizer: {lr: .inf}}\n",
             "c.yaml:7: training.optimizer.lr: wants a finite number, found '.inf'; allowed: above 0"},
            {"training: {optimizer: {lr: nan}}\n",
             "c.yaml:7: training.optimizer.lr: wants a finite number, found 'nan'; allowed: above 0"},
            {"training: {optimizer: {momentum: 1}}\n",
             "c.yaml:7: training.optimizer.momentum: 1 is out of range; allowed: 0 or more, below 1"},
            // In 32 bits this is 1.
            {"training: {optimizer: {momentum: 0.99999999999}}\n",
             "c.yaml:7: training.optimizer.momentum: 0.99999999999 is out of range; allowed: 0 or more, below 1"},
            {"training: {optimizer: {weight_decay: -1}}\n",
             "c.yaml:7: training.optimizer.weight_decay: -1 is out of range; allowed: 0 or more"},
            {"evaluation: {every: 0}\n", "c.yaml:7: evaluation.every: 0 is out of range; allowed: 1 to 1e9"},
            {"evaluation: {chunk_size: 0}\n", "c.yaml:7: evaluation.chunk_size: 0 is out of range; allowed: 1 to 1e9"},
            {"stop: {test_accuracy: 99}\n", "c.yaml:7: stop.test_accuracy: 99 is out of range; allowed: above 0, at most 1"},
            {"failures: {deadline_s: 0}\n",
             "c.yaml:7: failures.deadline_s: 0 is out of range; allowed: auto, above 0, at most 1000000"},
            {"devices: {compute: {seconds_per_example: 0}}\n",
             "c.yaml:7: devices.compute.seconds_per_example: 0 is out of range; allowed: above 0, at most 1000000"},
            {"devices: {compute: {distribution: lognormal, sigma: -1}}\n",
             "c.yaml:7: devices.compute.sigma: -1 is out of range; allowed: 0 to 10"},
            {"devices: {link: {upload: 0.5}}\n", "c.yaml:7: devices.link.upload: 0.5 is out of range; allowed: 1 to 1e12"},
            {"devices: {link: {download: 1e13}}\n",
             "c.yaml:7: devices.link.download: 1e13 is out of range; allowed: 1 to 1e12"},
            {"devices: {link: {distribution: zipf, exponent: 11}}\n",
             "c.yaml:7: devices.link.exponent: 11 is out of range; allowed: 0 to 10"},
            {"devices: {availability: {scheme: probability, probability: 0}}\n",
             "c.yaml:7: devices.availability.probability: 0 is out of range; allowed: 0.001 to 1"},
            {"devices: {availability: {scheme: probability, period_s: 0}}\n",
             "c.yaml:7: devices.availability.period_s: 0 is out of range; allowed: 0.001 to 1e9"},
        },
        kMinimal);
    check_errors(
        {{"seed: -1\n", "c.yaml:1: seed: -1 is out of range; allowed: 0 or more"},
         {"seed: 18446744073709551616\n", "c.yaml:1: seed: 18446744073709551616 does not fit in 64 bits; allowed: 0 or more"},
         {"data: {format: glyphs, num_train: 0}\n", "c.yaml:1: data.num_train: 0 is out of range; allowed: 1 to 1e9"},
         {"data: {format: glyphs, num_test: 0}\n", "c.yaml:1: data.num_test: 0 is out of range; allowed: 1 to 1e9"},
         {"data: {format: synthetic, num_classes: 1}\n",
          "c.yaml:1: data.num_classes: 1 is out of range; allowed: 2 to 1000000"},
         {"data: {format: synthetic, num_features: 0}\n",
          "c.yaml:1: data.num_features: 0 is out of range; allowed: 1 to 1000000"},
         {"data: {format: synthetic, separation: 0}\n", "c.yaml:1: data.separation: 0 is out of range; allowed: above 0"},
         {"data: {format: idx, root: x, classes: -1}\n", "c.yaml:1: data.classes: -1 is out of range; allowed: 0 to 1000000"},
         {"data: {partition: {clients: 0}}\n", "c.yaml:1: data.partition.clients: 0 is out of range; allowed: 1 to 1e9"},
         {"data: {partition: {sizes: [0.5, 0]}}\n",
          "c.yaml:1: data.partition.sizes[1]: 0 is out of range; allowed: above 0, at most 1"},
         {"data: {partition: {scheme: shards, shards_per_client: 0}}\n",
          "c.yaml:1: data.partition.shards_per_client: 0 is out of range; allowed: 1 to 1e9"},
         {"data: {partition: {scheme: dirichlet, alpha: 0}}\n",
          "c.yaml:1: data.partition.alpha: 0 is out of range; allowed: 0.001 to 1000000"},
         {"data: {partition: {scheme: dirichlet, min_examples: 0}}\n",
          "c.yaml:1: data.partition.min_examples: 0 is out of range; allowed: 1 to 1e9"},
         {"data: {augment: {crop_padding: 1001}}\n",
          "c.yaml:1: data.augment.crop_padding: 1001 is out of range; allowed: 0 to 1000"},
         {"data: {normalize: {std: [0]}}\n", "c.yaml:1: data.normalize.std[0]: 0 is out of range; allowed: above 0"},
         {"model: {name: mlp, hidden: 0}\n", "c.yaml:1: model.hidden: 0 is out of range; allowed: 1 to 1000000"}});
}

TEST_CASE("UnknownChoices") {
    check_errors(
        {
            {"device: gpu\n", "c.yaml:7: device: unknown value 'gpu'; allowed: auto, cpu, cuda; did you mean 'cuda'?"},
            {"training: {precision: f16}\n",
             "c.yaml:7: training.precision: unknown value 'f16'; allowed: f32, tf32, bf16; did you mean 'bf16'?"},
            {"device: tpux9\n", "c.yaml:7: device: unknown value 'tpux9'; allowed: auto, cpu, cuda"},
            {"strategy: {name: FedAvg}\n", "c.yaml:7: strategy.name: unknown value 'FedAvg'; allowed: " +
                                               names_in(strategy_catalog()) + "; did you mean 'fedavg'?"},
            {"strategy: {weighting: example}\n",
             "c.yaml:7: strategy.weighting: unknown value 'example'; allowed: examples, uniform; did you mean 'examples'?"},
            {"mode: {name: sync}\n", "c.yaml:7: mode.name: unknown value 'sync'; allowed: " + names_in(mode_catalog()) +
                                         "; did you mean 'synchronous'?"},
            {"failures: {policy: ignore}\n",
             "c.yaml:7: failures.policy: unknown value 'ignore'; allowed: abort, drop, retry; did you mean 'drop'?"},
            {"clock: real\n", "c.yaml:7: clock: unknown value 'real'; allowed: virtual, wall; did you mean 'wall'?"},
            {"devices: {compute: {distribution: normal}}\n",
             "c.yaml:7: devices.compute.distribution: unknown value 'normal'; allowed: constant, lognormal, zipf; did you mean "
             "'lognormal'?"},
            {"devices: {availability: {scheme: never}}\n",
             "c.yaml:7: devices.availability.scheme: unknown value 'never'; allowed: always, probability, trace"},
            {"training: {optimizer: {name: adadelta}}\n",
             "c.yaml:7: training.optimizer.name: unknown value 'adadelta'; allowed: sgd, adam, adamw, adagrad"},
            {"training: {lr_schedule: {name: linear}}\n",
             "c.yaml:7: training.lr_schedule.name: unknown value 'linear'; allowed: constant, step, cosine"},
        },
        kMinimal);
    check_errors({{"data: {format: glyph}\n",
                   "c.yaml:1: data.format: unknown value 'glyph'; allowed: " + data_formats() + "; did you mean 'glyphs'?"},
                  {"data: {partition: {scheme: diriclet}}\n",
                   "c.yaml:1: data.partition.scheme: unknown value 'diriclet'; allowed: " + partition_schemes() +
                       "; did you mean 'dirichlet'?"},
                  {"model: {name: mnist-cnn}\n",
                   "c.yaml:1: model.name: unknown value 'mnist-cnn'; allowed: " + models() + "; did you mean 'mnist_cnn'?"},
                  {"model: {name: \"a\\nb\"}\n", "c.yaml:1: model.name: unknown value 'a?b'; allowed: " + models()},
                  {"model: {name: " + std::string(70, 'x') + "}\n",
                   "c.yaml:1: model.name: unknown value '" + std::string(57, 'x') + "...'; allowed: " + models()}});
}

TEST_CASE("MissingKeys") {
    check_errors(
        {{"model: {name: lr}\n", "c.yaml: data.format: is missing; allowed: " + data_formats()},
         {"data: {format: glyphs}\n", "c.yaml: model.name: is missing; allowed: " + models() + "; or give layers or file"},
         {"data: {format: idx}\nmodel: {name: lr}\n", "c.yaml: data.root: is missing; format 'idx' needs it"},
         {"data: {root: x}\nmodel: {name: lr}\n", "c.yaml: data.format: is missing; allowed: " + data_formats()}});
    check_errors({{"devices: {availability: {scheme: trace}}\n",
                   "c.yaml: devices.availability.trace: is missing; scheme 'trace' needs it"}},
                 kMinimal);
}

TEST_CASE("KeysOfAnotherChoice") {
    check_errors(
        {{"data: {format: glyphs, root: x}\nmodel: {name: lr}\n",
          "c.yaml:1: data.root: 'root' belongs to format " + formats_with("root") +
              "; the format here is 'glyphs'; known keys: format, num_train, "
              "num_test, "
              "shared, normalize, augment, skew, partition"},
         {"data: {format: idx, root: x, num_train: 3}\nmodel: {name: lr}\n",
          "c.yaml:1: data.num_train: 'num_train' belongs to format 'glyphs' or 'synthetic' or 'synthetic_linear'; the format "
          "here is 'idx'; known "
          "keys: format, "
          "root, classes, shared, normalize, augment, skew, partition"},
         {"data:\n  format: glyphs\n  partition: {alpha: 1}\nmodel: {name: lr}\n",
          "c.yaml:3: data.partition.alpha: 'alpha' belongs to scheme 'dirichlet' or 'dirichlet_sizes'; the scheme here is "
          "'iid'; known keys: "
          "scheme, clients, holdout, "
          "sizes"},
         {"data: {format: glyphs}\nmodel: {name: lr, hidden: 3}\n",
          "c.yaml:2: model.hidden: 'hidden' belongs to model 'mlp'; the model here is 'lr'; known keys: name, init, frozen, "
          "local"},
         {"data: {format: glyphs}\nmodel: {name: mlp, dropout: true}\n",
          "c.yaml:2: model.dropout: 'dropout' belongs to model 'mnist_cnn' or 'cnn_m'; the model here is 'mlp'; known keys: "
          "name, hidden, init, frozen, local"}});
    check_errors(
        {{"strategy: {name: median, beta1: 0.5}\n",
          "c.yaml:7: strategy.beta1: 'beta1' belongs to server 'adam' or 'yogi' or 'adagrad'; the server here is 'sgd'; known "
          "keys: "
          "name, weighting, local, aggregator, server, server_lr"},
         {"strategy: {proximal_mu: 1}\n",
          "c.yaml:7: strategy.proximal_mu: 'proximal_mu' belongs to local 'prox'; the local here is 'plain'; known keys: name, "
          "weighting, local, aggregator, server, server_lr"},
         {"clock: wall\ndevices:\n  compute: {seconds_per_example: 0}\n",
          "c.yaml:8: devices: 'devices' belongs to clock 'virtual'; the clock here is 'wall'; known keys: name, seed, rounds, "
          "device, workers, mps, threads, client_state, clock, arrivals, task, seeds, data, model, training, sampling, "
          "strategy, upload, "
          "mode, "
          "evaluation, "
          "stop, "
          "failures, "
          "checkpoint, "
          "faults"},
         {"devices:\n  trace: x.csv\n  link: {upload: 5}\n",
          "c.yaml:9: devices.link: 'trace' and 'link' are both given; keep one"},
         {"devices:\n  compute: {sigma: 5}\n",
          "c.yaml:8: devices.compute.sigma: 'sigma' belongs to distribution 'lognormal'; the distribution here is 'constant'; "
          "known keys: distribution, seconds_per_example"},
         {"devices:\n  availability: {trace: x.csv}\n",
          "c.yaml:8: devices.availability.trace: 'trace' belongs to scheme 'trace'; the scheme here is 'always'; known keys: "
          "scheme"}},
        kMinimal);
}

TEST_CASE("KeysThatDoNotGoTogether") {
    const std::string names = "; allowed: 1 to 100 of A-Z a-z 0-9 . _ -, not beginning with . or -";
    check_errors(
        {
            {"training:\n  cohort: 2\n  participation: 0.5\n",
             "c.yaml:9: training.participation: cohort and participation are both given; keep one"},
            {"training:\n  local_epochs: 1\n  local_steps: 5\n",
             "c.yaml:9: training.local_steps: local_epochs and local_steps are both given; keep one"},
            {"training: {clients_at_once: 2, optimizer: {name: adam}}\n",
             "c.yaml:7: training.optimizer.name: clients trained at once step by SGD; allowed with clients_at_once above 1: "
             "sgd, "
             "not adam"},
            {"training: {optimizer: {name: adam}}\nmode: {name: parameter_server}\n",
             "c.yaml:7: training.optimizer.name: the server takes the steps, along clients' gradients; allowed in mode "
             "parameter_server: sgd"},
            {"training: {optimizer: {name: adagrad, momentum: 0.5}}\n",
             "c.yaml:7: training.optimizer.momentum: 'momentum' belongs to optimizer 'sgd'; the optimizer here is 'adagrad'; "
             "known "
             "keys: name, lr, epsilon, weight_decay"},
            {"training: {lr_schedule: {name: cosine, gamma: 0.5}}\n",
             "c.yaml:7: training.lr_schedule.gamma: 'gamma' belongs to lr_schedule 'step'; the lr_schedule here is 'cosine'; "
             "known "
             "keys: name, warmup_rounds, over, least"},
            {"training: {clip_norm: 0}\n", "c.yaml:7: training.clip_norm: 0 is out of range; allowed: above 0"},
            {"training:\n  cohort: 5\n", "c.yaml:8: training.cohort: 5 is more than data.partition.clients; allowed: 1 to 4"},
            {"training: {clients_per_slot: 6}\n",
             "c.yaml:7: training.clients_per_slot: 6 is not a power of two; allowed: 1, 2, 4, 8, ...; write 4 or 8"},
            {"training: {clients_per_slot: 8, clients_at_once: 6}\n",
             "c.yaml:7: training.clients_at_once: 6 is not a power of two; allowed: 1, 2, 4, 8, ...; write 4 or 8"},
            {"training: {clients_per_slot: 4, clients_at_once: 8}\n",
             "c.yaml:7: training.clients_at_once: 8 is more than training.clients_per_slot, and clients trained at once share "
             "a slot; allowed: 1 to 4, or raise clients_per_slot"},
            {"training: {clients_at_once: 4}\nmode: {name: async}\n",
             "c.yaml:7: training.clients_at_once: only a cohort that arrives as a whole can be trained at once (mode "
             "synchronous without a quorum); allowed: 1"},
            {"training: {clients_per_slot: 2, clients_at_once: 2, precision: bf16}\n",
             "c.yaml:7: training.precision: clients trained at once are not computed in bf16; allowed with clients_at_once "
             "above 1: f32, tf32"},
            {"training:\n  clients_per_slot: 2\nstrategy: {name: median}\n",
             "c.yaml:8: training.clients_per_slot: aggregator 'median' looks at every client's own update; allowed: 1"},
            {"training: {graph: true}\nmode: {name: split, cut: fc1}\n",
             "c.yaml:7: training.graph: a step that two processes share cannot be recorded; allowed in mode split: false"},
            {"training: {precision: bf16}\nmode: {name: split, cut: fc1}\n",
             "c.yaml:7: training.precision: what the halves pass each other is f32; allowed in mode split: f32, tf32"},
            {"mode: {name: semi_async}\n",
             "c.yaml: mode.quorum: mode semi_async needs it: the arrivals that end a round; allowed: 1 to 4"},
            {"mode: {quorum: 5}\n", "c.yaml:7: mode.quorum: 5 is more than the cohort; allowed: 1 to 4"},
            {"training: {cohort: 4}\nstrategy: {name: krum, byzantine: 1}\n",
             "c.yaml:7: training.cohort: aggregator 'krum' needs 5 updates, 4 arrive in a round; allowed with its keys here: 5 "
             "or "
             "more"},
            {"mode: {name: synchronous, quorum: 2}\nstrategy: {aggregator: krum}\n",
             "c.yaml:7: mode.quorum: aggregator 'krum' needs 3 updates, 2 arrive in a round; allowed with its keys here: 3 or "
             "more"},
            {"strategy: {name: median}\nmode: {name: semi_async, quorum: 2}\n",
             "c.yaml:8: mode.name: strategy 'median' does not run in mode 'semi_async'; allowed: synchronous, split"},
            {"training: {clients_per_slot: 2}\nmode: {quorum: 2}\n",
             "c.yaml:7: training.clients_per_slot: only a cohort that arrives as a whole can share slots (mode synchronous "
             "without a quorum); allowed: 1"},
            {"strategy: {server_lr: 0.5}\nmode: {name: async}\n",
             "c.yaml:7: strategy.server_lr: mode async has no server rate, mode.alpha takes its place; allowed: 1"},
            {"mode: {quorum: 2}\nfailures: {min_updates: 3}\n",
             "c.yaml:8: failures.min_updates: 3 is more than arrive in a round; allowed: 1 to 2"},
            {"mode: {name: async}\nfailures: {min_updates: 2}\n",
             "c.yaml:8: failures.min_updates: 2 is more than arrive in a round; allowed: 1 to 1"},
            {"training: {optimizer: {nesterov: true}}\n",
             "c.yaml:7: training.optimizer.nesterov: needs momentum above 0, typically 0.9; the momentum here is 0"},
            {"name: a/b\n", "c.yaml:7: name: 'a/b' cannot name a folder" + names},
            {"name: ''\n", "c.yaml:7: name: '' cannot name a folder" + names},
            {"name: ..\n", "c.yaml:7: name: '..' cannot name a folder" + names},
            {"name: -x\n", "c.yaml:7: name: '-x' cannot name a folder" + names},
            {"name: " + std::string(101, 'a') + "\n",
             "c.yaml:7: name: '" + std::string(101, 'a') + "' cannot name a folder" + names},
        },
        kMinimal);
    const std::string data = "model: {name: lr}\ndata:\n  format: glyphs\n";
    check_errors(
        {{"  normalize: {mean: [0, 0], std: [1]}\n",
          "c.yaml:4: data.normalize.mean: mean has 2 numbers, std has 1; give each as many"},
         {"  normalize: {std: [1]}\n", "c.yaml:4: data.normalize.std: mean has 0 numbers, std has 1; give each as many"},
         {"  partition: {clients: 3, sizes: [0.5, 0.5]}\n",
          "c.yaml:4: data.partition.sizes: 2 numbers for 3 clients; give one per client"},
         {"  partition: {clients: 2, sizes: [0.5, 0.75]}\n",
          "c.yaml:4: data.partition.sizes: the fractions add up to 1.25; allowed: at most 1"}},
        data);
    // In doubles this is a little more than 1.
    CHECK_EQ(error_of(data + "  partition: {clients: 4, sizes: [0.2, 0.4, 0.3, 0.1]}\n"), "");
}

TEST_CASE("ShapeThatNoExampleHas") {
    const std::string data = "model: {name: lr}\ndata:\n  format: synthetic\n";
    check_errors({{"  shape: [3, 0, 4]\n", "c.yaml:4: data.shape[1]: 0 is out of range; allowed: 1 to 1000000"},
                  {"  shape: [3, 32]\n", "c.yaml:4: data.shape: has 2 numbers; give three: channels, height, width"},
                  {"  shape: [3, 1.5, 4]\n", "c.yaml:4: data.shape: 1.5 is not an integer; give channels, height, width"},
                  {"  shape: [3, 1000, 1000]\n",
                   "c.yaml:4: data.shape: an example would have 3000000 values; allowed: at most 1000000"}},
                 data);
}

TEST_SUITE_END();
