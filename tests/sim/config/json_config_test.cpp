// Configs as JSON, which is YAML with every word in quotes.
#include "sim/config/fields.h"
#include "sim/config/sweep_config.h"
#include "tests/sim/config/as_json.h"
#include "tests/sim/config/config_files.h"
#include "tests/sim/config/every_choice.h"
#include "tests/support/golden_messages.h"
#include "tests/support/places.h"
#include "tests/support/python.h"

#include <doctest/doctest.h>

#include <functional>
#include <set>

using namespace fedhive;
using namespace fedhive::sim;
using namespace fedhive::sim::testing;

namespace fs = std::filesystem;

namespace {

/// Every key whose value is a word or words: its path without list indices, and its possible words.
class WordKeys : public Visitor {
public:
    explicit WordKeys(bool all) : all_(all) {}

    /// By path with list indices.
    std::map<std::string, std::vector<std::string>> words;

    void begin(const Section& section) override { path_.push_back(section.name); }
    void end() override { path_.pop_back(); }
    void field(const Field& field) override {
        if (!all_ && field.when && !field.when->holds()) return;
        const bool is_word = std::visit([](auto target) { return takes_words(*target); }, field.target);
        const bool is_list = std::holds_alternative<std::vector<std::string>*>(field.target);
        if ((!is_word && field.empty_word.empty()) || (is_list && !field.words().empty())) return;
        std::vector<std::string>& here =
            words[fmt::format("{}{}{}", fmt::join(path_, "."), path_.empty() ? "" : ".", field.name)];
        here = field.words();
        if (!field.empty_word.empty() && std::ranges::find(here, field.empty_word) == here.end())
            here.push_back(field.empty_word);
    }
    void items(const ItemList& list) override {
        if (all_) return item(list, list.name, [&] { list.example(*this); });
        for (std::size_t i = 0; i < list.size(); ++i)
            item(list, fmt::format("{}[{}]", list.name, i), [&] { list.item(*this, i); });
    }
    bool wants_all() const override { return all_; }

private:
    void item(const ItemList&, const std::string& name, const std::function<void()>& show) {
        path_.push_back(name);
        show();
        path_.pop_back();
    }
    template <class Value>
    static bool takes_words(const Value&) {
        return std::is_same_v<Value, WordRef> || std::is_same_v<Value, std::string> || std::is_same_v<Value, fs::path> ||
               std::is_same_v<Value, std::vector<std::string>> || std::is_same_v<Value, clients::LayerList>;
    }

    bool all_;
    std::vector<std::string> path_;
};

std::string without_number(const std::string& path) {
    const std::size_t open = path.find('[');
    return open == std::string::npos ? path : path.substr(0, open) + path.substr(path.find(']') + 1);
}

/// The node at a path such as "faults[0].kind"; null if there is none.
YamlNode* node_at(YamlNode& root, const std::string& path) {
    YamlNode* node = &root;
    std::istringstream keys(path);
    for (std::string key; std::getline(keys, key, '.');) {
        const std::size_t open = key.find('[');
        auto child = std::ranges::find(node->children, key.substr(0, open), &YamlNode::key);
        if (child == node->children.end()) return nullptr;
        node = &*child;
        if (open != std::string::npos) node = &node->children.at(std::stoul(key.substr(open + 1)));
    }
    return node;
}

/// The result of loading a text: the resolved config, or the error.
std::string outcome(const std::string& text) {
    const std::string error = error_of(text);
    return error.empty() ? to_yaml(loaded(text)) : error;
}

std::vector<std::string> texts_with_every_key() {
    std::vector<std::string> texts = one_for_each_choice();
    const std::string data = "data: {format: glyphs, partition: {holdout: 0.5}}\n";
    texts.push_back(data + "model: {layers: [flatten, {linear: 8}, relu, {residual: [relu, {dropout: 0.25}]}, linear]}\n");
    texts.push_back(data + "model: {file: /net.pt2, file_sha256: " + std::string(64, 'a') +
                    ", init: /a, frozen: [\"conv*\"]}\n");
    texts.push_back(data + "model: {name: lr, local: [\"fc*\"]}\nevaluation: {clients: {every: 1}}\n");
    texts.push_back(data + "model: {name: lr}\nclock: wall\narrivals: /a.csv\n");
    texts.push_back(data + "model: {name: lr}\ndevices: {trace: /d.csv, availability: {scheme: trace, trace: /a.csv}}\n");
    texts.push_back("data: {format: csv, train: /, test: /, target: y, client: who}\nmodel: {name: lr}\n");
    texts.push_back(data + "model: {name: lr}\nstrategy: {file: " +
                    (fedhive::testing::source_folder() / "configs/methods/fedprox.py").string() + "}\n");
    if (fedhive::testing::python_has_numpy()) {
        texts.push_back(data + "model: {name: lr}\nstrategy: {rule: " +
                        (fedhive::testing::source_folder() / "configs/rules/median.py").string() + "}\n");
        texts.push_back(data + "model: {name: lr}\nstrategy: {visit: " +
                        (fedhive::testing::source_folder() / "configs/visits/fedavg_numpy.py").string() + "}\n");
    }
    return texts;
}

/// The resolved config or sweep file as text, with the folder's name removed.
std::string resolved(const fs::path& file, const fs::path& folder) {
    std::string text;
    if (read_tree(file).find("base") == nullptr) {
        text = to_yaml(load_config(file).run);
    } else {
        const SweepConfig sweep = load_sweep(file);
        for (const SweepRun& run : sweep.runs) text += run.id + "\n" + run.case_name + "\n" + to_yaml(run.config);
    }
    for (std::size_t at = text.find(folder.string()); at != std::string::npos; at = text.find(folder.string()))
        text.erase(at, folder.string().size());
    return text;
}

std::vector<fs::path> yaml_files_below(const fs::path& folder) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
        if (entry.path().extension() == ".yaml") files.push_back(entry.path());
    return files;
}

}  // namespace

TEST_SUITE_BEGIN("JsonConfig");

TEST_CASE("EveryWordOfEveryKeyIsReadInQuotes") {
    std::set<std::string> read;
    for (const std::string& text : texts_with_every_key()) {
        CAPTURE(text);
        RunConfig run = loaded(text);
        const std::string yaml = to_yaml(run);
        YamlNode tree = parse_tree(yaml, "resolved");
        CHECK_EQ(outcome(as_text(tree, Quotes::All)), yaml);
        WordKeys keys(false);
        describe(keys, run);
        for (const auto& [path, words] : keys.words) {
            YamlNode* node = node_at(tree, path);
            if (node == nullptr || !read.insert(without_number(path)).second) continue;
            const YamlNode before = *node;
            for (const std::string& word : words) {
                CAPTURE(path);
                CAPTURE(word);
                node->text = word;
                node->kind = YamlNode::Kind::Plain;
                const std::string plain = outcome(as_text(tree, Quotes::AsGiven));
                node->kind = YamlNode::Kind::Quoted;
                CHECK_EQ(outcome(as_text(tree, Quotes::All)), plain);
                CHECK_EQ(plain.find(": expected "),
                         std::string::npos);  // it is a value of this key, even if others exclude it
            }
            *node = before;
        }
    }
    WordKeys all(true);
    RunConfig defaults;
    describe(all, defaults);
    CHECK(all.words.size() > 50);
    if (!fedhive::testing::python_has_numpy()) {
        MESSAGE("skipped: strategy.rule and strategy.visit, since there is no NumPy in .deps/python (scripts/setup --tests)");
        std::erase_if(all.words, [](const auto& one) {
            return one.first.starts_with("strategy.rule") || one.first.starts_with("strategy.visit");
        });
    }
    for (const auto& [path, words] : all.words) CHECK_MESSAGE(read.contains(path), path, " is in none of the texts");
}

TEST_CASE("ConfigsAndSweepsOfTheProjectAreTheSameAsJson") {
    const fs::path source = fedhive::testing::source_folder();
    const TemporaryFolder as_yaml, as_json;
    std::vector<fs::path> files;
    for (const char* part : {"configs", "tests/bench", "tests/fuzz/corpus/config"})
        for (const fs::path& file : yaml_files_below(source / part)) files.push_back(fs::relative(file, source));
    const auto is_wrong_on_purpose = [&](const fs::path& file) {
        try {
            load_config(source / file);
            return false;
        } catch (const ConfigError&) {
            return file.parent_path().filename() == "config";  // the fuzzer's
        }
    };
    std::erase_if(files, is_wrong_on_purpose);
    CHECK(files.size() > 50);
    for (const fs::path& file : files) {
        for (const TemporaryFolder* folder : {&as_yaml, &as_json})
            fs::create_directories((folder->path() / file).parent_path());
        fs::copy_file(source / file, as_yaml.path() / file);
        as_json.write(file.string(), as_text(read_tree(source / file), Quotes::All));
    }
    for (const fs::path& file : files) {
        CAPTURE(file);
        CHECK_EQ(resolved(as_json.path() / file, as_json.path()), resolved(as_yaml.path() / file, as_yaml.path()));
    }
}

TEST_CASE("QuotedWordsOfOverridesAndSweeps") {
    const RunConfig run =
        loaded(kMinimal, {"workers=\"auto\"", "checkpoint.every='auto'", "failures.deadline_s=\"auto\"",
                          "training={clients_per_slot: \"auto\"}", "data.partition.holdout=0.5",
                          "evaluation.clients={every: 1, sample: \"all\"}", "model={layers: [\"flatten\", \"linear\"]}"});
    CHECK_FALSE(run.workers.has_value());
    CHECK_FALSE(run.checkpoint.every.has_value());
    CHECK_FALSE(run.failures.deadline_s.has_value());
    CHECK_EQ(run.model.layers, clients::LayerList().add("flatten").add("linear"));
    CHECK_EQ(loaded("{\n\t\"data\": {\n\t\t\"format\": \"glyphs\"\n\t},\n\t\"model\": {\"name\": \"lr\"}\n}\n").data.format,
             "glyphs");
    CHECK_MESSAGE_IS("config", "", error_of(kMinimal + "training: {optimizer: {nesterov: \"true\"}}\n"));
}

TEST_SUITE_END();
