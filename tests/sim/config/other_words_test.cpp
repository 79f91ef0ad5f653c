// Suggestions for keys and values that users know by other names.
#include "sim/config/other_words.h"
#include "sim/config/run_keys.h"
#include "sim/config/tree.h"
#include "tests/sim/config/config_files.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <sstream>

using namespace fedhive;
using namespace fedhive::sim;
using namespace fedhive::sim::testing;

namespace {

std::vector<std::string> words_in(const std::string& text) {
    std::istringstream all(text);
    return {std::istream_iterator<std::string>(all), {}};
}

bool is_key_or_section(const std::string& key) { return is_run_key_or_section(key) || run_choices().contains(key); }

/// Calls `take` with every path of keys in a tree; paths of list items are like "upload.name".
void each_path(const Node& node, const std::string& path, const std::function<void(const std::string&)>& take) {
    if (!path.empty()) take(path);
    for (const Node& child : node.children)
        each_path(child, node.kind == Node::Kind::List ? path : path.empty() ? child.key : path + "." + child.key, take);
}

}  // namespace

TEST_SUITE_BEGIN("OtherWords");

TEST_CASE("EveryOtherWordLeadsToAKeyThatThereIs") {
    for (const OtherWords& row : other_words()) {
        CAPTURE(row.key);
        CHECK(is_run_key_or_section(row.key));
        const std::size_t dot = row.key.rfind('.');
        const std::string section = dot == std::string::npos ? "" : row.key.substr(0, dot);
        for (const std::string& word : words_in(row.words)) {
            CAPTURE(word);
            const bool own = word.front() == '.';
            CHECK_EQ(key_meant(own ? word.substr(1) : word, section), row.key);
            if (own || is_run_key_or_section(word)) continue;
            const std::string error = error_of(kMinimal + word + ": 1\n"),
                              told = "c.yaml:7: " + word + ": unknown key; did you mean '";
            CHECK_MESSAGE(error.starts_with(told), error);
            CHECK(is_run_key_or_section(error.substr(told.size(), error.find('\'', told.size()) - told.size())));
        }
    }
}

TEST_CASE("EveryOtherValueLeadsToWhatThereIs") {
    for (const OtherValues& row : other_values()) {
        CAPTURE(row.key);
        CAPTURE(row.words);
        REQUIRE(run_choices().contains(row.key));
        const std::vector<std::string>& choices = run_choices().at(row.key);
        for (const std::string& word : words_in(row.words)) {
            CAPTURE(word);
            CHECK_EQ(std::ranges::count(choices, word), 0);
            const ValueMeant meant = value_meant(row.key, word, choices);
            CHECK_EQ(meant.value, row.value);
            CHECK_FALSE(meant.is_same);
            CHECK_NE(meant.advice, "");
        }
        if (row.value.empty()) CHECK_NE(row.says, "");
        if (!row.value.empty()) CHECK_EQ(std::ranges::count(choices, row.value), 1);
        if (row.config.empty()) continue;
        const Node config = parse_tree(row.config.substr(0, row.config.find(';')), "config");
        each_path(config, "", [](const std::string& path) {
            CAPTURE(path);
            const bool of_a_list = path.starts_with("upload.");  // its other keys are no choices
            CHECK((of_a_list || is_key_or_section(path)));
        });
    }
}

TEST_CASE("KeysByOtherNames") {
    check_errors(
        {
            {"epochs: 5\n", "c.yaml:7: epochs: unknown key; did you mean 'training.local_epochs'?"},
            {"num_rounds: 5\n", "c.yaml:7: num_rounds: unknown key; did you mean 'rounds'?"},
            {"clients: 5\n", "c.yaml:7: clients: unknown key; did you mean 'data.partition.clients'?"},
            {"num-clients: 5\n", "c.yaml:7: num-clients: unknown key; did you mean 'data.partition.clients'?"},
            {"clients_per_round: 2\n", "c.yaml:7: clients_per_round: unknown key; did you mean 'training.cohort'?"},
            {"fraction_fit: 0.5\n", "c.yaml:7: fraction_fit: unknown key; did you mean 'training.participation'?"},
            {"alpha: 0.5\n", "c.yaml:7: alpha: unknown key; did you mean 'data.partition.alpha'?"},
            {"momentum: 0.9\n", "c.yaml:7: momentum: unknown key; did you mean 'training.optimizer.momentum'?"},
            {"batchSize: 8\n", "c.yaml:7: batchSize: unknown key; did you mean 'training.batch_size'?"},
            // Suggestions near the key's own place.
            {"training: {learning_rate: 0.1}\n",
             "c.yaml:7: training.learning_rate: unknown key; did you mean 'training.optimizer.lr'?"},
            {"training: {batch: 8}\n", "c.yaml:7: training.batch: unknown key; did you mean 'batch_size'?"},
            {"training: {num_epochs: 8}\n", "c.yaml:7: training.num_epochs: unknown key; did you mean 'local_epochs'?"},
            {"evaluation: {batch_size: 8}\n", "c.yaml:7: evaluation.batch_size: unknown key; did you mean 'chunk_size'?"},
            {"strategy: {lr: 1}\n", "c.yaml:7: strategy.lr: unknown key; did you mean 'server_lr'?"},
            {"mode: {type: async}\n", "c.yaml:7: mode.type: unknown key; did you mean 'name'?"},
            // Sections.
            {"optimizer: {lr: 0.1}\n", "c.yaml:7: optimizer: unknown key; did you mean 'training.optimizer'?"},
            {"optimizer: adam\n", "c.yaml:7: optimizer: unknown key; did you mean 'training.optimizer.name'?"},
            {"normalize: {mean: [0], std: [1]}\n", "c.yaml:7: normalize: unknown key; did you mean 'data.normalize'?"},
            {"dp: {}\n", "c.yaml:7: dp: unknown key; did you mean 'upload'?"},
        },
        kMinimal);
    // The key that it stands for is not reported as missing, too.
    CHECK_EQ(error_of("dataset: glyphs\nmodel: {name: lr}\n"), "c.yaml:1: dataset: unknown key; did you mean 'data.format'?");
    CHECK_EQ(error_of("dataset: {format: glyphs}\nmodel: {name: lr}\n"),
             "c.yaml:1: dataset: unknown key; did you mean 'data'?");
    CHECK_EQ(error_of(kMinimal, {"lr=0.1"}), "--set lr=0.1: lr: unknown key; did you mean 'training.optimizer.lr'?");
}

TEST_CASE("NamesInPlaceOfASection") {
    const auto at = [](const std::string& rest) { return "c.yaml:7: " + rest; };
    check_errors(
        {
            {"strategy: FedAvg\n", at("strategy: wants keys below it, found 'FedAvg'; write strategy: {name: fedavg}")},
            {"strategy: fed-prox\n", at("strategy: wants keys below it, found 'fed-prox'; write strategy: {name: fedprox}")},
            {"strategy: FedBN\n", at("strategy: wants keys below it, found 'FedBN'; write strategy: {name: …}; allowed: " +
                                     names_in(strategy_catalog()) + R"(; FedBN is model: {local: ["bn*"]}; docs/models.md)")},
            {"strategy: moon\n", at("strategy: wants keys below it, found 'moon'; write strategy: {name: …}; allowed: " +
                                    names_in(strategy_catalog()))},
            {"mode: sync\n", at("mode: wants keys below it, found 'sync'; write mode: {name: synchronous}; allowed: " +
                                names_in(mode_catalog()))},
            {"training: {optimizer: \"Adam\"}\n",
             at("training.optimizer: wants keys below it, found the string \"Adam\"; write optimizer: {name: adam}")},
            {"failures: drop\n", at("failures: wants keys below it, found 'drop'; write failures: {policy: drop}")},
            {"upload: [clip]\n", at("upload[0]: wants a map, found 'clip'; write {name: clip}")},
            {"upload: [krum]\n",
             at("upload[0]: wants a map, found 'krum'; write {name: …}; 'krum' is strategy: {aggregator: krum} or "
                "strategy: {name: krum}")},
            {"faults: [[kill]]\n", at("faults[0]: wants a map, found a list; write {kind: …}")},
        },
        kMinimal);
    CHECK_EQ(error_of("data: {format: glyphs, partition: iid}\nmodel: cnn\n"),
             "c.yaml:1: data.partition: wants keys below it, found 'iid'; write partition: {scheme: iid}\n"
             "c.yaml:2: model: wants keys below it, found 'cnn'; write model: {name: …}; allowed: " +
                 models() + "; the convolutional ones are mnist_cnn, cnn_m and mcmahan_cnn");
    CHECK_EQ(error_of(kMinimal, {"strategy=FedAvg"}),
             "--set strategy=FedAvg: strategy: wants keys below it, found 'FedAvg'; write strategy.name=fedavg");
}

TEST_CASE("ValuesByOtherNames") {
    const auto strategy = [](const std::string& name) { return error_of(kMinimal + "strategy: {name: " + name + "}\n"); };
    const std::string unknown = "'; allowed: " + names_in(strategy_catalog());
    const auto told = [&](const std::string& name, const std::string& advice) {
        CHECK_EQ(strategy(name), "c.yaml:7: strategy.name: unknown value '" + name + unknown + advice);
    };
    told("FedPer", R"(; FedPer is model: {local: ["fc*"]}; docs/models.md)");
    told("fedbuff", "; FedBuff is mode: {name: semi_async, quorum: 10}; docs/modes.md");
    told("qsgd", "; QSGD is upload: [{name: quantize}]; docs/strategies.md");
    told("hogwild", "; 'hogwild' is mode: {name: hogwild}");
    // No suggestion for what does not exist here.
    for (const char* name : {"moon", "ditto", "fednova", "trimmed_mean"}) told(name, "");
    const auto format = [](const std::string& name) { return error_of("data: {format: " + name + "}\nmodel: {name: lr}\n"); };
    CHECK(format("fashion_mnist")
              .ends_with("; the MNIST family's files, which scripts/data fetches, are data: {format: idx, root: FOLDER}"));
    CHECK(
        format("parquet").ends_with("; docs/data.md has the lines of Python that make archives of it, data: {format: npz, "
                                    "train: train.npz, test: test.npz}"));
    CHECK(error_of(kMinimal + "device: gpu\n").ends_with("; did you mean 'cuda'?"));
    CHECK(error_of(kMinimal + "mps: false\n").ends_with("; did you mean 'off'?"));
    CHECK(error_of(kMinimal + "mode: {name: asynchronous}\n").ends_with("; did you mean 'async'?"));
    CHECK(error_of(kMinimal + "upload: [{name: krum}]\n")
              .ends_with("; 'krum' is strategy: {aggregator: krum} or strategy: {name: krum}"));
    CHECK(error_of("data: {format: glyphs, partition: {scheme: noniid}}\nmodel: {name: lr}\n")
              .ends_with("did you mean 'dirichlet'?"));
}

TEST_CASE("KeysOfACommandLine") {
    for (const auto& [word, key] : {std::pair("epochs", "training.local_epochs"),
                                    {"learning-rate", "training.optimizer.lr"},
                                    {"rounds", "rounds"},
                                    {"training.batch_size", "training.batch_size"},
                                    {"model", "model.name"},
                                    {"partition", "data.partition.scheme"},
                                    {"holdout", "data.partition.holdout"},
                                    {"quite", ""},
                                    {"beta1", ""}}) {
        CAPTURE(word);
        CHECK_EQ(key_of_option(word), key);
    }
}

TEST_SUITE_END();
