// One experiment as plain structs. Defaults are defined here and nowhere else. The same fields are read from YAML, written back
// as the resolved config and printed into configs/REFERENCE.md, by the descriptions in fields.h.
#pragma once

#include "aggregation/base/error.h"
#include "clients/data/dataset.h"
#include "clients/data/feature_skew.h"
#include "clients/models/layer_list.h"
#include "sim/devices/devices_config.h"
#include "sim/selection/sampler.h"
#include "sim/strategies/strategy.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::sim {

struct PartitionConfig {
    std::string scheme = "iid";  // of clients/data/partition.h
    static constexpr std::int64_t kDefaultClients = 10;
    // Left out: kDefaultClients; for a scheme that names clients, their number in the data once read.
    std::optional<std::int64_t> clients;
    double holdout = 0.0;  // share of each client's examples held out from training, in [0, 1)
    Values values;         // of the scheme's keys; complete once loaded
};

struct AugmentConfig {
    std::int64_t crop_padding = 0;  // pixels; 0: images stay where they are
    std::string flip = "none";      // none | horizontal

    clients::Augmentation resolved() const { return {static_cast<std::uint32_t>(crop_padding), flip == "horizontal"}; }
};

/// Feature skew: how clients' examples differ.
struct SkewConfig {
    std::string rotation = "none";  // none | half_turns | quarter_turns
    double noise = 0.0;             // variance of the last client's

    clients::FeatureSkew resolved() const { return {rotation == "none" ? 1U : rotation == "half_turns" ? 2U : 4U, noise}; }
};

struct DataConfig {
    std::string format;          // of clients/data/data_format.h
    Values values;               // of the format's keys; complete once loaded, paths absolute
    std::string shared = "own";  // several ranks: own | rank0
    clients::Normalization normalize;
    AugmentConfig augment;
    SkewConfig skew;
    PartitionConfig partition;
};

struct ModelConfig {
    std::string name;                   // of the catalog of models
    Values values;                      // of its keys; complete once loaded, with defaults
    clients::LayerList layers;          // in place of a name
    std::filesystem::path file{};       // in place of both: a graph of torch.export; absolute once loaded
    std::string file_sha256{};          // of that file; empty: unknown
    std::string graph = "auto";         // for a file: auto | keep
    bool frozen_norms = false;          // for a file: its norms are in eval() on purpose
    std::filesystem::path init;         // safetensors file with the first global model; empty: drawn from the seed
    std::vector<std::string> frozen{};  // patterns of parameters that are not trained
    std::vector<std::string> local{};   // patterns of parameters and buffers that stay with each client

    bool has_local_part() const { return !local.empty(); }
};

struct LrScheduleConfig {
    std::string name = "constant";  // of sim/schedules
    Values values;                  // of its keys; complete once loaded
    std::int64_t warmup_rounds = 0;
};

struct TrainingConfig {
    std::optional<std::int64_t> cohort;        // clients per round; exactly one of cohort and participation once loaded is used
    std::optional<double> participation;       // fraction in (0, 1]; cohort = max(1, round(participation * clients))
    std::optional<std::int64_t> local_epochs;  // exactly one of local_epochs and local_steps once loaded
    std::optional<std::int64_t> local_steps;
    std::int64_t batch_size = 32;
    std::optional<std::int64_t> clients_per_slot;  // a power of two; empty: auto
    std::int64_t clients_at_once = 1;              // a power of two, at most clients_per_slot if given
    std::string engine = "auto";                   // auto | libtorch | direct
    std::string precision = "f32";                 // f32 | tf32 | bf16
    bool graph = false;
    Chosen optimizer{"sgd"};          // of aggregation/math/client_optimizer.h
    std::optional<double> clip_norm;  // empty: no clipping
    LrScheduleConfig lr_schedule;
    Chosen loss;  // of clients/tasks/loss.h; the task's own once loaded, if none is given

    std::int64_t least_per_slot() const { return clients_per_slot.value_or(clients_at_once); }
};

struct StrategyConfig {
    std::string name = "fedavg";
    Weighting weighting = Weighting::Examples;
    StrategyParts parts;  // complete once loaded: names and values

    /// Clients have state for the strategy.
    bool client_state() const { return local_rule_spec(parts_of(name, parts).local.name).client_state(); }
    /// That state follows from their steps by plain SGD.
    bool state_of_steps() const {
        const Chosen local = parts_of(name, parts).local;
        const LocalRuleSpec& rule = local_rule_spec(local.name);
        return rule.state_of_steps != nullptr && rule.state_of_steps(completed(local.values, rule.keys));
    }
};

struct ModeConfig {
    std::string name = "synchronous";  // of sim/modes/mode_spec.h
    Values values;                     // of the mode's keys; complete once loaded

    /// Arrivals that end a round; empty: left out, or the mode has no such key.
    std::optional<std::int64_t> quorum() const;
};

/// Evaluation on each client's held-out examples.
struct ClientsEvaluationConfig {
    std::optional<std::int64_t> every;   // rounds; empty: never
    std::optional<std::int64_t> sample;  // clients; empty: all
    bool personalized = false;
};

struct EvaluationConfig {
    std::int64_t every = 1;            // rounds; the last round is always evaluated
    std::int64_t chunk_size = 500;     // examples per forward pass; can change the last bit of a metric
    std::vector<std::string> metrics;  // besides the task's usual ones
    bool confusion = false;            // confusion.csv is written
    ClientsEvaluationConfig clients;
};

/// Targets of metrics, by name (clients/tasks/learning_task.h); empty or missing: no target.
struct MetricTargets : std::map<std::string, std::optional<double>> {
    std::optional<double> of(const std::string& metric) const {
        const auto found = find(metric);
        return found == end() ? std::nullopt : found->second;
    }
};

/// Stop after a round that reaches one of the targets.
struct StopConfig {
    MetricTargets test;
};

struct FailuresConfig {
    std::string policy = "abort";              // abort | drop | retry
    std::int64_t attempts = 3;                 // retry: of one client in one round
    std::int64_t min_updates = 1;              // a round with fewer accepted clients makes no server step
    std::optional<double> deadline_s = 300.0;  // per client; empty: auto
    std::optional<double> max_update_norm;     // larger updates are rejected like non-finite ones
};

struct CheckpointConfig {
    std::optional<std::int64_t> every;  // rounds; empty: auto
    std::int64_t keep = 2;              // number of newest checkpoints to keep
};

/// One item of `faults:`: what shall fail, and where.
struct FaultConfig {
    std::string kind;                     // of clients/protocol/fault.h
    std::optional<std::int64_t> round;    // from 1; empty: every round
    std::optional<std::int64_t> client;   // empty: every client
    double rate = 1.0;                    // probability, for each matching round and client
    std::string attempts = "first";       // first | all
    Values values;                        // of the kind's keys
    std::optional<std::uint32_t> repeat;  // not a key: number of the sending in that round, from 0, for a replay; empty: each
};

/// Seeds of parts of a run's randomness; empty: RunConfig::seed.
struct SeedsConfig {
    std::optional<std::uint64_t> data;       // drawn examples
    std::optional<std::uint64_t> partition;  // which client has which examples
    std::optional<std::uint64_t> model;      // initial parameters
    std::optional<std::uint64_t> sampling;   // participation: cohorts, devices and their availability, injected faults
    std::optional<std::uint64_t> training;   // order of examples, dropout
};

/// The seeds that a run draws from.
struct Seeds {
    std::uint64_t data, partition, model, sampling, training;
};

/// What the accountant is asked for (sim/privacy); with neither, it is not at work.
struct PrivacyConfig {
    std::optional<double> epsilon;  // at most this after all rounds
    std::optional<double> delta;

    bool wanted() const { return epsilon || delta; }
};

struct RunConfig {
    std::string name;  // default: the file's name without .yaml
    std::uint64_t seed = 1;
    SeedsConfig seeds;
    std::int64_t rounds = 10;
    std::string device = "auto";          // auto | cpu | cuda
    std::optional<std::int64_t> workers;  // empty: auto
    std::string mps = "auto";             // auto | on | off
    std::int64_t threads = 1;
    std::string client_state = "memory";  // memory | file
    std::string clock = "virtual";        // virtual | wall
    std::filesystem::path arrivals;  // clock wall: arrivals.csv of a run to follow; empty: as they come; absolute once loaded
    std::string task = "classification";  // of clients/tasks/learning_task.h
    DataConfig data;
    ModelConfig model;
    TrainingConfig training;
    Chosen sampling{"uniform"};  // of sim/selection
    StrategyConfig strategy;
    ModeConfig mode;
    EvaluationConfig evaluation;
    StopConfig stop;
    FailuresConfig failures;
    CheckpointConfig checkpoint;
    std::vector<FaultConfig> faults;
    std::vector<Chosen> upload;  // steps of the chain (clients/uploads/upload.h)
    PrivacyConfig privacy;
    DevicesConfig devices;  // clock virtual

    /// `seeds`, each as given, or else `seed`.
    Seeds all_seeds() const;

    /// Clients keep a residual of their upload chain for the next update.
    bool keeps_residual() const;

    /// Clients have state between rounds: of the strategy, the upload chain, or a local part of the model.
    bool keeps_client_state() const { return strategy.client_state() || keeps_residual() || model.has_local_part(); }

    /// Number of clients; if it is known only from data not yet read, an upper bound.
    std::int64_t num_clients() const;

    /// Clients asked to train in a round, of num_clients().
    std::int64_t cohort_size() const;

    /// A round ends with the updates of its whole cohort.
    bool waits_for_all() const;
};

/// Origin of values, so that code that later finds one unusable (a model that does not fit the data) can name file and line.
class ConfigSource {
public:
    virtual ~ConfigSource() = default;
    /// "configs/mnist.yaml:14: model.name: <problem>", or "--set model.name=x: model.name: …"; only the file for a key left
    /// out.
    virtual ConfigError error(const std::string& key_path, const std::string& problem) const = 0;
};

struct LoadedConfig {
    RunConfig run;
    std::shared_ptr<const ConfigSource> source;
};

/// Reads a file strictly and applies `overrides` ("training.batch_size=32", in order; each key must exist; =null removes one).
/// Relative paths are resolved against the file's folder, in overrides against the current one. Throws ConfigError: unknown
/// (with a suggestion) or duplicate key, wrong type, value out of range, missing value, incompatible strategy and mode, cohort
/// larger than the number of clients, a file that is missing, empty or not YAML.
LoadedConfig load_config(const std::filesystem::path& file, const std::vector<std::string>& overrides = {});

/// The config after its data were read and turned out to have `clients` clients. Throws as load_config if that does not go with
/// other keys.
LoadedConfig with_clients(LoadedConfig loaded, std::int64_t clients);

/// The resolved config: every key that applies, with its value. A valid input of load_config, which then gives the same
/// RunConfig.
std::string to_yaml(const RunConfig& run);

/// Reads the output of to_yaml; messages name `origin` instead of a file. Throws as load_config.
RunConfig from_yaml(const std::string& text, const std::string& origin);

/// The value of a top-level key in an output of to_yaml, as written; empty if there is none, or if the text is not YAML.
std::string top_level_value(const std::string& yaml, const std::string& key);

/// A key in which two resolved configs differ; a value is empty if the key is left out.
struct ConfigChange {
    std::string key;
    std::string before;
    std::string after;
    bool allowed;  // does not change what was computed so far, so a resumed run may have it
};
std::vector<ConfigChange> changes(const RunConfig& before, const RunConfig& after);

/// The keys that may change when a run is resumed, in file order.
std::vector<std::string> keys_that_may_change();

/// The keys of a section that apply, with their values in the resolved config: "model.hidden" -> "200".
std::map<std::string, std::string> values_below(const RunConfig& run, const std::string& section);

/// Every key that a config can have, "training.optimizer.lr", sorted; includes keys of choices that are not taken; a list of
/// maps is one key.
std::vector<std::string> config_keys();

/// The text of configs/REFERENCE.md.
std::string reference_markdown();

}  // namespace fedhive::sim
