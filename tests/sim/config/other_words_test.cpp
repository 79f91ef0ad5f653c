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
void each_path(const YamlNode& node, const std::string& path, const std::function<void(const std::string&)>& take) {
    if (!path.empty()) take(path);
    for (const YamlNode& child : node.children)
        each_path(child, node.kind == YamlNode::Kind::List ? path : path.empty() ? child.key : path + "." + child.key, take);
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
        const YamlNode config = parse_tree(row.config.substr(0, row.config.find(';')), "config");
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
            {"epochs: 5\n", "c.yaml:7: epochs"},
            {"num_rounds: 5\n", "c.yaml:7: num_rounds"},
            {"clients: 5\n", "c.yaml:7: clients"},
            {"num-clients: 5\n", "c.yaml:7: num-clients"},
            {"clients_per_round: 2\n", "c.yaml:7: clients_per_round"},
            {"fraction_fit: 0.5\n", "c.yaml:7: fraction_fit"},
            {"alpha: 0.5\n", "c.yaml:7: alpha"},
            {"momentum: 0.9\n", "c.yaml:7: momentum"},
            {"batchSize: 8\n", "c.yaml:7: batchSize"},
            // Suggestions near the key's own place.
            {"training: {learning_rate: 0.1}\n", "c.yaml:7: training.learning_rate"},
            {"training: {batch: 8}\n", "c.yaml:7: training.batch"},
            {"training: {num_epochs: 8}\n", "c.yaml:7: training.num_epochs"},
            {"evaluation: {batch_size: 8}\n", "c.yaml:7: evaluation.batch_size"},
            {"strategy: {lr: 1}\n", "c.yaml:7: strategy.lr"},
            {"mode: {type: async}\n", "c.yaml:7: mode.type"},
            // Sections.
            {"optimizer: {lr: 0.1}\n", "c.yaml:7: optimizer"},
            {"optimizer: adam\n", "c.yaml:7: optimizer"},
            {"normalize: {mean: [0], std: [1]}\n", "c.yaml:7: normalize"},
            {"dp: {}\n", "c.yaml:7: dp"},
        },
        kMinimal);
    // The key that it stands for is not reported as missing, too.
    CHECK_ERROR_AT(error_of("dataset: glyphs\nmodel: {name: lr}\n"), "c.yaml:1: dataset");
    check_message("config", "a section by another name", error_of("dataset: {format: glyphs}\nmodel: {name: lr}\n"),
                  "c.yaml:1: dataset");
    CHECK_ERROR_AT(error_of(kMinimal, {"lr=0.1"}), "--set lr=0.1: lr");
}

TEST_CASE("NamesInPlaceOfASection") {
    check_errors(
        {
            {"strategy: FedAvg\n", "c.yaml:7: strategy"},
            {"strategy: fed-prox\n", "c.yaml:7: strategy"},
            {"strategy: FedBN\n", "c.yaml:7: strategy"},
            {"strategy: moon\n", "c.yaml:7: strategy"},
            {"mode: sync\n", "c.yaml:7: mode"},
            {"training: {optimizer: \"Adam\"}\n", "c.yaml:7: training.optimizer"},
            {"failures: drop\n", "c.yaml:7: failures"},
            {"upload: [clip]\n", "c.yaml:7: upload[0]"},
            {"upload: [krum]\n", "c.yaml:7: upload[0]"},
            {"faults: [[kill]]\n", "c.yaml:7: faults[0]"},
        },
        kMinimal);
    CHECK_ERROR_AT(error_of("data: {format: glyphs, partition: iid}\nmodel: cnn\n"),
                   "c.yaml:1: data.partition\nc.yaml:2: model");
    CHECK_ERROR_AT(error_of(kMinimal, {"strategy=FedAvg"}), "--set strategy=FedAvg: strategy");
}

TEST_CASE("ValuesByOtherNames") {
    const auto strategy = [](const std::string& name) { return error_of(kMinimal + "strategy: {name: " + name + "}\n"); };
    for (const std::string name : {"FedPer", "fedbuff", "qsgd", "hogwild"})
        check_message("config", name, strategy(name), "c.yaml:7: strategy.name");
    // No suggestion for what does not exist here.
    for (const char* name : {"heterofl", "flame"})
        CHECK(strategy(name).ends_with("; allowed: " + names_in(strategy_catalog())));
    const auto format = [](const std::string& name) { return error_of("data: {format: " + name + "}\nmodel: {name: lr}\n"); };
    for (const std::string name : {"fashion_mnist", "parquet"})
        check_message("config", name, format(name), "c.yaml:1: data.format");
    CHECK(error_of(kMinimal + "device: gpu\n").ends_with("; did you mean 'cuda'?"));
    CHECK(error_of(kMinimal + "mps: false\n").ends_with("; did you mean 'off'?"));
    CHECK(error_of(kMinimal + "mode: {name: asynchronous}\n").ends_with("; did you mean 'async'?"));
    check_message("config", "krum as an upload step", error_of(kMinimal + "upload: [{name: krum}]\n"),
                  "c.yaml:7: upload[0].name");
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
