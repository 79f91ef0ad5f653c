// Hashes of current results, for every mode with every strategy and every model, and for other keys that affect bits. They
// reveal unintended changes of bits. tests/golden/model_sha256.csv has them for each recorded machine:
//
//     FEDHIVE_RECORD_GOLDEN=1 build/release/test_process --test-suite=Golden
//
// adds this machine's hashes, or replaces them after an intended change; the commit that does so says why.
#include "clients/models/catalog.h"
#include "sim/config/fields.h"
#include "sim/modes/mode_spec.h"
#include "sim/strategies/strategy.h"
#include "tests/process/csv_rows.h"
#include "tests/support/skip.h"
#include "tests/support/small_model.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <set>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

/// Two rounds of four clients, 30 examples each, with a ragged last batch.
constexpr const char* kGoldenConfig = R"(
name: golden
device: cpu
rounds: 2
workers: 0
data: {format: glyphs, num_train: 120, num_test: 20, partition: {scheme: iid, clients: 4}}
model: {name: mlp}
training: {cohort: 4, local_epochs: 1, batch_size: 8, engine: libtorch, optimizer: {name: sgd, lr: 0.05, momentum: 0.5}}
evaluation: {every: 2}
)";

constexpr std::array kOneByOne{"semi_async", "async", "parameter_server"};
constexpr std::array kInGroups{"gradient_averaging", "hogwild", "split"};

/// Required keys of a mode besides its name.
const std::map<std::string, Options> kKeysOfMode{{"semi_async", {"mode.quorum=2"}},
                                                 {"gradient_averaging", {"workers=4"}},
                                                 {"hogwild", {"workers=1"}},
                                                 {"split", {"workers=2"}}};

/// The layer after which `split` cuts. lr has only one layer.
const std::map<std::string, std::string> kCuts{{"mlp", "fc1"}, {"mnist_cnn", "conv2"}, {"cnn_m", "conv2"}};

/// Strategies recorded among the other cases: the direct engine's bits are equal on all machines, and one mode suffices to test
/// a server step.
const std::set<std::string> kByDirect{
    "fedyogi", "fedadagrad", "feddyn",  "krum", "trimmed_mean", "bulyan",       "rfa",    "centered_clipping",
    "fedexp",  "fednova",    "qfedavg", "term", "afl",          "fedmgda_plus", "fedadp", "fedfv",
    "dnc",     "feddisco",   "fltrust", "zeno", "dp_ftrl",      "foolsgold"};

struct Case {
    std::string name;
    Options assignments;
};

std::vector<Case> cases_of_mode(const std::string& mode) {
    std::vector<Case> cases;
    for (const sim::StrategySpec& strategy : sim::strategy_catalog()) {
        const auto modes = sim::modes_of(sim::parts_of(strategy.name));
        if (std::find(modes.begin(), modes.end(), mode) == modes.end() || kByDirect.contains(strategy.name)) continue;
        for (const std::string model : kTrainedModels) {
            if (mode == "split" && model == "lr") continue;
            Case one{fmt::format("{} {} {}", mode, strategy.name, model),
                     {"mode.name=" + mode, "strategy.name=" + strategy.name, fmt::format("model={{name: {}}}", model)}};
            if (sim::local_rule_spec(strategy.local).client_state())
                one.assignments =
                    one.assignments + Options{"training.optimizer={name: sgd, lr: 0.05}", "training.engine=direct"};
            if (const auto keys = kKeysOfMode.find(mode); keys != kKeysOfMode.end())
                one.assignments = one.assignments + keys->second;
            if (mode == "split") one.assignments.push_back("mode.cut=" + kCuts.at(model));
            cases.push_back(std::move(one));
        }
    }
    return cases;
}

/// One key, or a few related ones, on top of the config above.
std::vector<Case> other_cases() {
    const std::vector<Options> changes{
        {"data.partition={scheme: contiguous, clients: 4}"},
        {"data.partition={scheme: shards, clients: 4}"},
        {"data.partition={scheme: dirichlet, clients: 4, alpha: 0.5, min_examples: 2}"},
        {"data.partition={scheme: iid, clients: 4, sizes: [0.4, 0.3, 0.2, 0.1]}"},
        {"data={format: synthetic, num_train: 120, num_test: 20, num_classes: 4, num_features: 12, partition: {scheme: iid, "
         "clients: 4}}"},
        {"data.normalize={mean: [0.2], std: [0.4]}"},
        {"training.cohort=2"},
        {"training.optimizer={name: sgd, lr: 0.05, momentum: 0.9, weight_decay: 0.01, nesterov: true}"},
        {"training.precision=bf16"},
        {"training.clients_at_once=4", "training.clients_per_slot=4"},
        {"training.clients_at_once=4", "training.clients_per_slot=4", "model={name: lr}"},
        {"training.clients_at_once=4", "training.clients_per_slot=4", "model={name: mnist_cnn}"},
        {"training.clients_at_once=4", "training.clients_per_slot=4", "model={name: cnn_m}"},
        {"training.clients_at_once=4", "training.clients_per_slot=4", "strategy={name: fedprox, proximal_mu: 0.1}"},
        {"model={name: mnist_cnn, dropout: false}"},
        {"strategy={name: fedavg, weighting: uniform}"},
        {"strategy={name: fedavg, server_lr: 0.5}"},
        {"seeds={data: 2, partition: 3, model: 4, sampling: 5, training: 6}"},
        {"mode={name: synchronous, quorum: 3}", "clock=virtual", "devices.compute={distribution: zipf}"},
        {"mode={name: semi_async, quorum: 2}", "clock=virtual", "devices.compute={distribution: zipf}"},
        {"failures={policy: drop}", "faults=[{kind: throw, client: 1, round: 1}]"},
        {"training.engine=direct"},
        {"training.engine=direct", "model={name: lr}"},
        {"training.engine=direct", "model={name: mnist_cnn}"},
        {"training.engine=direct", "model={name: cnn_m}"},
        {"training.engine=direct", "strategy={name: fedprox, proximal_mu: 0.1}"},
        {"training.engine=direct", "strategy={name: fedyogi}"},
        {"training.engine=direct", "strategy={name: fedadagrad}"},
        {"training.engine=direct", "strategy={name: scaffold, option: 1}", "training.optimizer={name: sgd, lr: 0.05}"},
        {"training.engine=direct", "strategy={name: feddyn}"},
        {"training.engine=direct", "strategy={name: fedadam, local: prox, aggregator: median}"},
        {"training.engine=direct", "strategy={name: krum, byzantine: 0, chosen: 2}"},
        {"training.engine=direct", "strategy={name: trimmed_mean, trim: 0.25}"},
        {"training.engine=direct", "strategy={name: bulyan, byzantine: 0}"},
        {"training.engine=direct", "strategy={name: rfa}"},
        {"training.engine=direct", "strategy={name: centered_clipping, radius: 0.1, iterations: 2}"},
        {"training.engine=direct", "strategy={name: fedexp}"},
        {"training.engine=direct", "strategy={name: fednova}"},
        {"training.engine=direct", "strategy={name: qfedavg, q: 0.5}"},
        {"training.engine=direct", "strategy={name: term}"},
        {"training.engine=direct", "strategy={name: afl}"},
        {"training.engine=direct", "strategy={name: fedmgda_plus, server_lr: 0.1}"},
        {"training.engine=direct", "strategy={name: fedadp}"},
        {"training.engine=direct", "strategy={name: fedfv}"},
        {"training.engine=direct", "strategy={name: dnc, byzantine: 1}"},
        {"training.engine=direct", "strategy={name: feddisco}"},
        {"training.engine=direct", "strategy={name: median, pre_aggregation: bucketing}"},
        {"training.engine=direct", "strategy={name: rfa, pre_aggregation: nearest_neighbors}"},
        {"training.engine=direct", "strategy={name: fltrust}", "data.root_examples=20"},
        {"training.engine=direct", "strategy={name: zeno}", "data.root_examples=20"},
        {"training.engine=direct", "strategy={name: dp_ftrl, restart_every: 2}", "upload=[{name: clip, norm: 0.5}]"},
        {"training.engine=direct", "strategy={name: fedavg, weighting: uniform}",
         "upload=[{name: adaptive_clip}, {name: gaussian_noise, multiplier: 0.1}]"},
        {"training.engine=direct", "strategy={name: foolsgold}"},
        {"training.engine=direct", "strategy={name: fedavg, aggregator: mean_around_median}"},
        {"training.engine=direct", "strategy={name: fedavg, aggregator: sign_majority, server_lr: 0.01}"},
        {"training.engine=direct", "strategy={name: fedavg, aggregator: robust_rate, threshold: 2}"},
        {"training.engine=direct", "attack={name: alie, share: 0.25, z: 1.5}"},
        {"training.engine=direct", "attack={name: inner_product, share: 0.25, epsilon: 0.5}"},
        {"training.engine=direct", "attack={name: mimic, share: 0.25}"},
        {"training.engine=direct", "attack={name: min_max, share: 0.25, direction: std}"},
        {"training.engine=direct", "attack={name: min_sum, share: 0.25, direction: sign}"},
        {"training.engine=direct", "upload=[{name: scaled_update, share: 0.25, factor: 4}]"},
        {"training.engine=direct", "training.optimizer={name: adam}", "training.clip_norm=1"},
        {"training.engine=direct", "training.optimizer={name: adamw}", "training.lr_schedule={name: cosine, over: 2}"},
        {"training.engine=direct", "training.optimizer={name: adagrad}", "training.lr_schedule={warmup_rounds: 1}"},
        {"training.engine=direct", "mode={name: gradient_averaging}", "workers=4"},
        {"training.engine=direct", "task=regression",
         "data={format: synthetic_linear, num_train: 120, num_test: 20, num_targets: 3, partition: {scheme: iid, clients: 4}}"},
    };
    std::vector<Case> cases;
    for (const Options& change : changes) {
        std::string name = fmt::format("{}", fmt::join(change, " "));
        std::replace(name.begin(), name.end(), ',', ';');
        cases.push_back({std::move(name), change});
    }
    return cases;
}

std::vector<Case> all_cases() {
    std::vector<Case> all = other_cases();
    for (const std::string& mode : names_of(sim::mode_catalog()))
        for (Case& one : cases_of_mode(mode)) all.push_back(std::move(one));
    return all;
}

/// Keys of a row's machine: LibTorch's kernels differ between versions and capabilities, and its libraries' between processors.
/// The direct engine's bits are equal on any processor, except that LibTorch draws the initial model.
constexpr std::array kMachine{"libtorch", "cpu_capability", "cpu"};
using Row = std::map<std::string, std::string>;

Row machine_of(const nlohmann::json& manifest) {
    const bool any = manifest["engine"] == "direct";
    Row machine;
    for (const char* key : kMachine) machine[key] = any && key != kMachine.front() ? "any" : std::string(manifest[key]);
    return machine;
}

class Golden {
public:
    Golden() : rows_(read_csv(kFile)) {}

    bool recording() const { return std::getenv("FEDHIVE_RECORD_GOLDEN") != nullptr; }

    /// The hash of that case on the run's machine; null if it is not recorded.
    const std::string* hash(const nlohmann::json& manifest, const std::string& name) const {
        for (const Row& row : rows_)
            if (on_machine_of(row, manifest) && row.at("case") == name) return &row.at("model_sha256");
        return nullptr;
    }
    bool knows_machine_of(const nlohmann::json& manifest) const {
        return std::any_of(rows_.begin(), rows_.end(), [&](const Row& row) { return on_machine_of(row, manifest); });
    }
    const std::vector<Row>& rows() const { return rows_; }

    /// Replaces the run's case on its machine.
    void record(const nlohmann::json& manifest, const std::string& name) {
        std::erase_if(rows_, [&](const Row& row) { return on_machine_of(row, manifest) && row.at("case") == name; });
        Row row{{"case", name}, {"model_sha256", manifest["model_sha256"]}};
        row.merge(machine_of(manifest));
        rows_.push_back(std::move(row));
    }
    void write() {
        const auto line = [](const Row& row) {
            return fmt::format("{},{},{},{},{}", row.at("libtorch"), row.at("cpu_capability"), row.at("cpu"), row.at("case"),
                               row.at("model_sha256"));
        };
        std::vector<std::string> lines;
        std::transform(rows_.begin(), rows_.end(), std::back_inserter(lines), line);
        std::sort(lines.begin(), lines.end());
        std::ofstream(kFile) << fmt::format("libtorch,cpu_capability,cpu,case,model_sha256\n{}\n", fmt::join(lines, "\n"));
    }

private:
    static bool on_machine_of(const Row& row, const nlohmann::json& manifest) {
        const Row machine = machine_of(manifest);
        return std::all_of(machine.begin(), machine.end(), [&](const auto& is) { return row.at(is.first) == is.second; });
    }

    inline static const std::filesystem::path kFile = source_folder() / "tests/golden/model_sha256.csv";
    std::vector<Row> rows_;
};

void give_the_bits_of_before(const std::vector<Case>& cases) {
    Golden golden;
    for (const Case& one : cases) {
        CAPTURE(one.name);
        FedhiveRun run(kGoldenConfig, set(one.assignments));
        const std::string ended = run.end();
        REQUIRE_MESSAGE(ended == "exited with status 0", run.output());
        const nlohmann::json manifest = run.manifest();
        if (golden.recording()) {
            golden.record(manifest, one.name);
            continue;
        }
        if (!golden.knows_machine_of(manifest))
            FEDHIVE_SKIP(fmt::format("nobody has recorded the bits of LibTorch {}, {}, on this processor, {}",
                                     std::string(manifest["libtorch"]), std::string(manifest["cpu_capability"]),
                                     std::string(manifest["cpu"])));
        const std::string* hash = golden.hash(manifest, one.name);
        if (hash != nullptr)
            CHECK(manifest["model_sha256"] == *hash);
        else if (manifest["engine"] == "direct")
            FAIL_CHECK("nobody has recorded its bits: FEDHIVE_RECORD_GOLDEN=1");
        else
            MESSAGE("nobody has recorded its bits on this processor, " << std::string(manifest["cpu"]));
    }
    if (golden.recording()) golden.write();
}

}  // namespace

TEST_SUITE("Golden") {
    TEST_CASE("SynchronousModelsAreThoseOfBefore") { give_the_bits_of_before(cases_of_mode("synchronous")); }
    TEST_CASE("AsynchronousModelsAreThoseOfBefore") {
        for (const char* mode : kOneByOne) give_the_bits_of_before(cases_of_mode(mode));
    }
    TEST_CASE("ModelsOfGroupsAreThoseOfBefore") {
        for (const char* mode : kInGroups) give_the_bits_of_before(cases_of_mode(mode));
    }
    TEST_CASE("ModelsOfOtherKeysAreThoseOfBefore") { give_the_bits_of_before(other_cases()); }

    TEST_CASE("ModelsOfClientsThatMeasureAreThoseOfBefore") {
        if (Golden().recording()) return;  // the cases above record them
        std::vector<Case> cases = other_cases();
        std::erase_if(cases, [](const Case& one) { return one.name.find("gradient_averaging") != std::string::npos; });
        for (Case& one : cases) one.assignments.emplace_back("training.measure=[loss]");
        give_the_bits_of_before(cases);
    }

    TEST_CASE("QuickstartsModelIsTheOneInItsPicture") {
        const std::string picture = read_text(source_folder() / "docs/quickstart.svg");
        const std::size_t at = picture.find("model_sha256 ");
        REQUIRE(at != std::string::npos);
        FedhiveRun run;
        run.start({"run", (source_folder() / "configs/quickstart.yaml").string(), "--out", run.out().string()});
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        if (!Golden().knows_machine_of(run.manifest()))
            FEDHIVE_SKIP("the picture is of another version of LibTorch, or of another engine");
        CHECK(run.manifest()["model_sha256"] == picture.substr(at + 13, 64));
    }

    TEST_CASE("EveryModeIsInOneOfThem") {
        std::set<std::string> covered{"synchronous"};
        covered.insert(kOneByOne.begin(), kOneByOne.end());
        covered.insert(kInGroups.begin(), kInGroups.end());
        for (const std::string& mode : names_of(sim::mode_catalog())) CHECK_MESSAGE(covered.contains(mode), mode);
    }
    TEST_CASE("EveryRecordedRowIsACaseOfToday") {
        std::set<std::string> names;
        for (const Case& one : all_cases()) CHECK_MESSAGE(names.insert(one.name).second, one.name);
        const Golden golden;
        for (const Row& row : golden.rows()) CHECK_MESSAGE(names.contains(row.at("case")), row.at("case"));
    }
}
