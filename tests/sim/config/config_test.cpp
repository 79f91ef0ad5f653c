// Results of loading valid configs: defaults, paths, the resolved form.
#include "sim/config/fields.h"
#include "sim/config/layer_fields.h"
#include "tests/sim/config/config_files.h"
#include "tests/sim/config/random_config.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>

using namespace fedhive;
using namespace fedhive::sim;
using namespace fedhive::sim::testing;

namespace {
const std::filesystem::path kConfigs = fedhive::testing::source_folder() / "configs";

std::vector<std::filesystem::path> config_files() {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(kConfigs))
        if (entry.path().extension() == ".yaml") files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

/// Text of every applicable member of the struct with its exact value, defaults included.
class Dump : public Visitor {
public:
    std::string text;
    bool wants_all() const override { return true; }
    void begin(const Section& section) override { text += section.name + " {\n"; }
    void end() override { text += "}\n"; }
    void items(const ItemList& list) override {
        for (std::size_t i = 0; i < list.size(); ++i) {
            text += list.name + " {\n";
            list.item(*this, i);
            text += "}\n";
        }
    }
    void field(const Field& field) override {
        if (field.when && !field.when->holds()) return;
        text += field.name + " " + std::visit([](auto target) { return one(*target); }, field.target) + "\n";
    }

private:
    static std::string one(const std::string& value) { return value; }
    static std::string one(const std::filesystem::path& value) { return value.string(); }
    static std::string one(double value) { return fmt::format("{:a}", value); }
    static std::string one(bool value) { return value ? "true" : "false"; }
    static std::string one(std::int64_t value) { return std::to_string(value); }
    static std::string one(std::uint64_t value) { return std::to_string(value); }
    template <class Value>
    static std::string one(const std::optional<Value>& value) {
        return value ? one(*value) : "none";
    }
    static std::string one(const WordRef& value) { return value.get().empty() ? "none" : value.get(); }
    static std::string one(const clients::LayerList& layers) { return text_of(layers); }
    template <class Value>
    static std::string one(const std::vector<Value>& values) {
        std::string all;
        for (const Value& value : values) all += one(value) + " ";
        return all;
    }
};

std::string dump(RunConfig run) {
    Dump visitor;
    describe(visitor, run);
    return visitor.text;
}

void check_round_trip(const RunConfig& run) {
    const std::string yaml = to_yaml(run);
    CAPTURE(yaml);
    const TemporaryFolder folder;
    const LoadedConfig again = load_config(folder.write("resolved.yaml", yaml));
    CHECK_EQ(dump(again.run), dump(run));
    CHECK(again.run.strategy.parts.local.values == run.strategy.parts.local.values);
    CHECK(again.run.strategy.parts.server.values == run.strategy.parts.server.values);
    CHECK_EQ(to_yaml(again.run), yaml);
}

}  // namespace

TEST_SUITE_BEGIN("Config");

TEST_CASE("KeysLeftOutHaveTheirDefaults") {
    RunConfig expected;
    expected.name = "c";
    expected.data.format = "glyphs";
    expected.data.partition.clients = 4;
    expected.model.name = "lr";
    expected.training.cohort = 4;
    expected.training.local_epochs = 1;
    expected.strategy.parts = {{"plain"}, {"none"}, {"mean"}, {"sgd", {{"server_lr", 1.0}}}};
    const RunConfig run = loaded(kMinimal);
    CHECK_EQ(dump(run), dump(expected));
    CHECK(run.strategy.parts.server.values == expected.strategy.parts.server.values);
}

TEST_CASE("EveryKeyIsRead") {
    const RunConfig run = loaded(
        "name: n\nseed: 18446744073709551615\nrounds: 2\ndevice: cpu\nworkers: 0\nmps: off\nthreads: 3\nclient_state: "
        "file\nclock: virtual\nseeds: {data: 0, partition: 18446744073709551615, model: 3, sampling: 4, training: 5}\n"
        "data:\n  format: idx\n  root: /r\n  classes: 7\n  shared: rank0\n  root_examples: 6\n  normalize: {mean: [0.25, -1], "
        "std: [0.5, 2]}\n  augment: {crop_padding: 4, flip: horizontal}\n"
        "  partition: {scheme: dirichlet, clients: 9, holdout: 0.25, alpha: 0.125, min_examples: 5}\n"
        "model: {name: cnn_m, dropout: false, frozen: [\"conv*\", fc1.bias]}\n"
        "training:\n  cohort: 8\n  local_epochs: 4\n  batch_size: 16\n  clients_per_slot: 1\n  clients_at_once: 1\n  engine: "
        "direct\n  clip_norm: 2\n  measure: [accuracy, loss]\n"
        "  optimizer: {name: sgd, lr: 0.5, momentum: 0.75, weight_decay: 0.25, nesterov: true}\n"
        "  lr_schedule: {name: cosine, warmup_rounds: 3, over: 50, least: 0.125}\n"
        "  loss: {name: cross_entropy, label_smoothing: 0.25, class_weights: [1, 0.5]}\n"
        "sampling: {name: fixed, clients: [8, 7, 6, 5, 4, 3, 2, 0]}\n"
        "strategy: {name: fedadam, weighting: uniform, aggregator: median, server_lr: 2, beta1: 0, beta2: 0.5, tau: 4}\n"
        "mode: {name: synchronous}\nevaluation: {every: 3, chunk_size: 50, metrics: [macro_f1], confusion: true, clients: "
        "{every: 6, sample: 7, personalized: "
        "true}}\nstop: {test_accuracy: 0.5}\n"
        "failures: {policy: retry, attempts: 4, min_updates: 2, deadline_s: auto, max_update_norm: 8}\n"
        "checkpoint: {every: 5, keep: 3}\n"
        "faults:\n  - {kind: slow, round: 2, client: 3, rate: 0.5, attempts: all, at: update, seconds: 4}\n  - {kind: nan}\n"
        "devices:\n  compute: {distribution: zipf, exponent: 2, seconds_per_example: 0.5}\n"
        "  link: {distribution: lognormal, sigma: 0.25, upload: 16, download: 64}\n"
        "  availability: {scheme: probability, probability: 0.5, period_s: 8}\n");
    CHECK_EQ(
        dump(run),
        "name n\nseed 18446744073709551615\nrounds 2\ndevice cpu\nworkers 0\nmps off\nthreads 3\nclient_state file\nclock "
        "virtual\ntask classification\n"
        "seeds {\ndata 0\npartition 18446744073709551615\nmodel 3\nsampling 4\ntraining 5\n}\n"
        "data {\nformat idx\nroot /r\nclasses 7\nshared rank0\nroot_examples 6\nnormalize {\nmean 0x1p-2 -0x1p+0 \nstd "
        "0x1p-1 0x1p+1 \n}\n"
        "augment {\ncrop_padding 4\nflip horizontal\n}\nskew {\nrotation none\nnoise 0x0p+0\n}\n"
        "partition {\nscheme dirichlet\nclients 9\nholdout 0x1p-2\nalpha 0x1p-3\nmin_examples 5\n}\npoison {\nname none\n}\n"
        "}\n"
        "model {\nname cnn_m\ndropout false\ninit \nfrozen conv* fc1.bias \nlocal \n}\n"
        "training {\ncohort 8\nparticipation none\nlocal_epochs 4\nlocal_steps none\nbatch_size 16\nclients_per_slot 1\n"
        "clients_at_once 1\nengine direct\nprecision f32\ngraph false\nclip_norm 0x1p+1\nmeasure accuracy loss \n"
        "optimizer {\nname sgd\nlr 0x1p-1\nmomentum 0x1.8p-1\n"
        "weight_decay 0x1p-2\nnesterov true\n}\n"
        "lr_schedule {\nname cosine\nwarmup_rounds 3\nover 50\nleast 0x1p-3\n}\n"
        "loss {\nname cross_entropy\nlabel_smoothing 0x1p-2\nclass_weights 0x1p+0 0x1p-1 \nbalanced false\n}\n"
        "}\n"
        "sampling {\nname fixed\nclients 0x1p+3 0x1.cp+2 0x1.8p+2 0x1.4p+2 0x1p+2 0x1.8p+1 0x1p+1 0x0p+0 \n}\n"
        "strategy {\nname fedadam\nfile \nfile_sha256 \ngradient \nrule \nrule_sha256 \nvisit \nvisit_sha256 \nweighting "
        "uniform\nlocal "
        "plain\npre_aggregation none\naggregator median\nserver adam\nserver_lr 0x1p+1\nbeta1 0x0p+0\n"
        "beta2 0x1p-1\ntau 0x1p+2\n}\n"
        "attack {\nname none\n}\nprivacy {\nepsilon none\ndelta none\n}\nmode {\nname synchronous\nquorum none\n}\n"
        "evaluation {\nevery 3\nchunk_size 50\nmetrics macro_f1 \nconfusion true\nclients {\nevery 6\nsample "
        "7\npersonalized true\n}\n}\n"
        "stop {\ntest_accuracy 0x1p-1\ntest_top5_accuracy none\ntest_balanced_accuracy none\ntest_macro_f1 none\n}\n"
        "failures {\npolicy retry\nattempts 4\nmin_updates 2\ndeadline_s none\nmax_update_norm 0x1p+3\n"
        "}\n"
        "checkpoint {\nevery 5\nkeep 3\n}\n"
        "faults {\nkind slow\nround 2\nclient 3\nrate 0x1p-1\nattempts all\nat update\nseconds 0x1p+2\n"
        "}\n"
        "faults {\nkind nan\nround none\nclient none\nrate 0x1p+0\nattempts first\n}\n"
        "devices {\ntrace \ncompute {\ndistribution zipf\nexponent 0x1p+1\nseconds_per_example 0x1p-1\n"
        "}\n"
        "link {\ndistribution lognormal\nsigma 0x1p-2\nupload 0x1p+4\ndownload 0x1p+6\n}\n"
        "availability {\nscheme probability\nprobability 0x1p-1\nperiod_s 0x1p+3\n}\n"
        "}\n");
    const RunConfig other = loaded(
        "data:\n  format: synthetic\n  num_train: 11\n  num_test: 12\n  num_classes: 13\n  num_features: 14\n  shape: [3, 4, "
        "5]\n  separation: 8\n"
        "  partition: {scheme: iid, clients: 2, sizes: [0.25, 0.5]}\n"
        "model: {name: mlp, hidden: 15}\ntraining: {participation: 0.5, precision: bf16, graph: true}\n");
    CHECK(other.training.precision == clients::Precision::BF16);
    CHECK(other.training.graph);
    CHECK_EQ(other.data.values.integer("num_train"), 11);
    CHECK_EQ(other.data.values.integer("num_test"), 12);
    CHECK_EQ(other.data.values.integer("num_classes"), 13);
    CHECK_EQ(other.data.values.integer("num_features"), 14);
    CHECK(other.data.values.numbers("shape") == std::vector<double>{3, 4, 5});
    CHECK_EQ(other.data.values.number("separation"), 8.0);
    CHECK(other.data.partition.values.numbers("sizes") == std::vector<double>{0.25, 0.5});
    CHECK_EQ(other.model.values.integer("hidden"), 15);
    CHECK(other.training.participation == 0.5);
    CHECK_EQ(loaded(kMinimal, {"data.partition={scheme: shards, shards_per_client: 6}"})
                 .data.partition.values.integer("shards_per_client"),
             6);
    const RunConfig traced =
        loaded(kMinimal + "clock: virtual\ndevices: {trace: /d.csv, availability: {scheme: trace, trace: /a.csv}}\n");
    CHECK_EQ(traced.devices.trace, std::filesystem::path("/d.csv"));
    CHECK_EQ(traced.devices.availability.values.path("trace"), std::filesystem::path("/a.csv"));
    CHECK(loaded(kMinimal, {"clock=wall"}).clock == Clock::Wall);
    const ModeConfig mode =
        loaded(kMinimal,
               {"mode={name: semi_async, quorum: 3, staleness: hinge, staleness_a: 2, staleness_b: 8, at_end: drain}"})
            .mode;
    CHECK_EQ(mode.quorum().value_or(0), 3);
    CHECK_EQ(mode.values.word("staleness"), "hinge");
    CHECK_EQ(mode.values.number("staleness_a"), 2.0);
    CHECK_EQ(mode.values.number("staleness_b"), 8.0);
    CHECK_EQ(mode.values.word("at_end"), "drain");
    CHECK_EQ(loaded(kMinimal, {"mode={name: async, alpha: 0.25}"}).mode.values.number("alpha"), 0.25);
    const RunConfig numbers = loaded(
        "task: regression\ndata: {format: synthetic_linear, num_features: 7, num_targets: 3, noise: 0.5}\n"
        "model: {name: linear_regression}\nstop: {test_mse: 0.25}\n");
    CHECK_EQ(numbers.task, "regression");
    CHECK_EQ(numbers.data.values.integer("num_targets"), 3);
    CHECK_EQ(numbers.data.values.number("noise"), 0.5);
    CHECK_EQ(numbers.stop.test.of("mse").value_or(0.0), 0.25);
}

TEST_CASE("NameDefaultsToTheFilesName") {
    const TemporaryFolder folder;
    CHECK_EQ(load_config(folder.write("my run+1.yaml", kMinimal)).run.name, "my_run_1");
    CHECK_EQ(load_config(folder.write("a.b.yaml", kMinimal)).run.name, "a.b");
    CHECK_EQ(load_config(folder.write("-x.yaml", kMinimal)).run.name, "_-x");
    CHECK_EQ(load_config(folder.write(".yaml", kMinimal)).run.name, "_.yaml");
    CHECK_EQ(load_config(folder.write("a.yaml", kMinimal + "name: '7'\n")).run.name, "7");
}

TEST_CASE("RootIsRelativeToWhereItIsWritten") {
    const TemporaryFolder folder;
    const std::string text = "data: {format: idx, root: ../d/./mnist}\nmodel: {name: lr}\n";
    const std::filesystem::path file = folder.write("c.yaml", text);
    const std::filesystem::path expected = folder.path().parent_path() / "d/mnist";
    CHECK_EQ(load_config(file).run.data.values.path("root"), expected);
    CHECK_EQ(load_config(std::filesystem::relative(file)).run.data.values.path("root"), expected);
    CHECK_EQ(load_config(file, {"data.root=x/y"}).run.data.values.path("root"), std::filesystem::current_path() / "x/y");
    CHECK_EQ(load_config(file, {"data.root=/x/y"}).run.data.values.path("root"), std::filesystem::path("/x/y"));
}

TEST_CASE("TracesOfDevicesAreRelativeToTheConfigFile") {
    const TemporaryFolder folder;
    const DevicesConfig devices =
        load_config(
            folder.write("c.yaml", kMinimal + "devices: {trace: d.csv, availability: {scheme: trace, trace: t/../a.csv}}\n"))
            .run.devices;
    CHECK_EQ(devices.trace, folder.path() / "d.csv");
    CHECK_EQ(devices.availability.values.path("trace"), folder.path() / "a.csv");
}

TEST_CASE("CohortSize") {
    CHECK_EQ(loaded(kMinimal).cohort_size(), 4);
    CHECK_EQ(loaded(kMinimal, {"training.cohort=3"}).cohort_size(), 3);
    const auto of_ten = [](const std::string& participation) {
        return loaded(kMinimal, {"data.partition.clients=10", "training.participation=" + participation}).cohort_size();
    };
    CHECK_EQ(of_ten("0.01"), 1);
    CHECK_EQ(of_ten("0.3"), 3);
    CHECK_EQ(of_ten("0.25"), 3);
    CHECK_EQ(of_ten("1"), 10);
    CHECK_EQ(RunConfig().cohort_size(), 10);
}

TEST_CASE("ResolvedFormToTheLetter") {
    CHECK_EQ(
        to_yaml(loaded(kMinimal + "strategy: {name: fedadam}\nstop: {test_accuracy: 0.9}\n", {"training.participation=0.5"})),
        "name: c\nseed: 1\nrounds: 10\ndevice: auto\nworkers: auto\nmps: auto\nthreads: 1\nclient_state: memory\nclock: "
        "virtual\ntask: classification\n\n"
        "data:\n    format: glyphs\n    num_train: 6000\n    num_test: 1000\n    shared: own\n    augment: {crop_padding: 0, "
        "flip: none}\n    skew: {rotation: none, noise: 0}\n    "
        "partition: {scheme: iid, clients: 4, holdout: 0}\n    poison: {name: none}\n\nmodel: {name: lr}\n\n"
        "training:\n    participation: 0.5\n    local_epochs: 1\n    batch_size: 32\n    clients_per_slot: auto\n    "
        "clients_at_once: 1\n    engine: auto\n    precision: f32\n    graph: false\n"
        "    optimizer: {name: sgd, lr: 0.01, momentum: 0, weight_decay: 0, nesterov: false}\n"
        "    lr_schedule: {name: constant, warmup_rounds: 0}\n"
        "    loss: {name: cross_entropy, label_smoothing: 0, balanced: false}\n\n"
        "sampling: {name: uniform}\n"
        "strategy: {name: fedadam, weighting: examples, local: plain, pre_aggregation: none, aggregator: mean, server: adam, "
        "server_lr: 0.01, beta1: "
        "0.9, beta2: 0.99, tau: "
        "0.001}\n"
        "attack: {name: none}\nmode: {name: synchronous}\n\nevaluation:\n    every: 1\n    chunk_size: 500\n    confusion: "
        "false\n    clients: "
        "{every: never, sample: all, "
        "personalized: false}\n\nstop: {test_accuracy: 0.9}\n"
        "failures: {policy: abort, attempts: 3, min_updates: 1, deadline_s: 300}\ncheckpoint: {every: auto, keep: 2}\n\n"
        "devices:\n    compute: {distribution: constant, seconds_per_example: 0.001}\n"
        "    link: {distribution: constant, upload: 1000000, download: 4000000}\n    availability: {scheme: always}\n");
    const std::string with_faults =
        to_yaml(loaded(kMinimal, {"clock=wall", "faults=[{kind: drop, rate: 0.25}, {kind: kill, client: 2}]"}));
    const std::string end =
        "\nfaults:\n    - {kind: drop, rate: 0.25, attempts: first}\n"
        "    - {kind: kill, client: 2, rate: 1, attempts: first, at: training}\n";
    CHECK_MESSAGE(with_faults.ends_with(end), with_faults);
    const std::string traced =
        to_yaml(loaded(kMinimal, {"devices={trace: /d.csv, availability: {scheme: trace, trace: /a.csv}}"}));
    const std::string devices = "\ndevices:\n    trace: /d.csv\n    availability: {scheme: trace, trace: /a.csv}\n";
    CHECK_MESSAGE(traced.ends_with(devices), traced);
}

TEST_CASE("ConfigsOfTheProjectLoadAndResolve") {
    const std::vector<std::filesystem::path> files = config_files();
    CHECK(files.size() >= 3);
    for (const std::filesystem::path& file : files) {
        CAPTURE(file);
        const LoadedConfig config = load_config(file);
        CHECK_EQ(config.run.name, file.stem().string());
        check_round_trip(config.run);
        std::ifstream text(file);
        std::string first;
        std::string second;
        std::getline(text, first);
        std::getline(text, second);
        CHECK(first.starts_with("# "));
        CHECK(second.starts_with("# "));
    }
}

TEST_CASE("QuickstartSpellsOutEveryKeyThatApplies") {
    class Given : public Visitor {
    public:
        explicit Given(const ConfigSource& source) : source_(source) {}
        void items(const ItemList&) override {}  // quickstart deliberately has no failures
        void begin(const Section& section) override { path_.push_back(section.name + "."); }
        void end() override { path_.pop_back(); }
        void field(const Field& field) override {
            std::string path = field.name;
            for (auto part = path_.rbegin(); part != path_.rend(); ++part) path.insert(0, *part);
            // The parts that belong to the strategy follow its name.
            static const std::set<std::string> alternatives = {"strategy.local",
                                                               "strategy.pre_aggregation",
                                                               "strategy.aggregator",
                                                               "strategy.server",
                                                               "training.participation",
                                                               "training.local_steps",
                                                               "training.clip_norm",
                                                               "training.measure",
                                                               "data.partition.sizes",
                                                               "model.init",
                                                               "model.frozen",
                                                               "model.local",
                                                               "failures.max_update_norm",
                                                               "devices.trace",
                                                               "mode.quorum",
                                                               "stop.test_top5_accuracy",
                                                               "training.loss.class_weights",
                                                               "evaluation.metrics",
                                                               "stop.test_balanced_accuracy",
                                                               "stop.test_macro_f1",
                                                               "strategy.gradient"};
            const bool alternative = alternatives.contains(path) || path.starts_with("data.root") ||
                                     path.starts_with("seeds.") || path.starts_with("strategy.file") ||
                                     path.starts_with("strategy.rule") || path.starts_with("strategy.visit") ||
                                     path.starts_with("privacy.");
            if ((field.when && !field.when->holds()) || alternative) return;
            const std::string text = source_.error(path, "x").what();  // "FILE:LINE: path: x", or no line where it is left out
            CHECK_MESSAGE(text.find("quickstart.yaml: ") == std::string::npos, "quickstart.yaml does not show ", path);
        }

    private:
        const ConfigSource& source_;
        std::vector<std::string> path_;
    };
    const LoadedConfig config = load_config(kConfigs / "quickstart.yaml");
    Given given(*config.source);
    RunConfig run = config.run;
    describe(given, run);
}

TEST_CASE("ResolvedFormOfRandomConfigsLoadsToTheSame") {
    for (unsigned seed = 0; seed < 300; ++seed) {
        RunConfig run;
        Randomize randomize(seed);
        describe(randomize, run);
        reconcile(run, seed);
        CAPTURE(seed);
        check_round_trip(run);
    }
}

TEST_CASE("DamagedFilesLoadOrSayWhy") {
    std::mt19937 random(1);
    std::ifstream stream(kConfigs / "quickstart.yaml");
    const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    const std::string noise = "{}[]:,#&*!|>'\"%@`-? \n\t0aA.\\\x01\xFF";
    int errors = 0;
    for (int i = 0; i < 1000; ++i) {
        std::string damaged = text;
        for (std::size_t n = 1 + random() % 4; n > 0; --n) {
            const std::size_t at = random() % damaged.size();
            switch (random() % 3) {
                case 0:
                    damaged[at] = noise[random() % noise.size()];
                    break;
                case 1:
                    damaged.erase(at, 1 + random() % 20);
                    break;
                default:
                    damaged.insert(at, 1, noise[random() % noise.size()]);
            }
        }
        errors += error_of(damaged).empty() ? 0 : 1;  // anything but a ConfigError fails the test
    }
    CHECK(errors > 100);
    CHECK(errors < 1000);
}

TEST_SUITE_END();
