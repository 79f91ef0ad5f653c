// One experiment as plain structs. Defaults are defined here and nowhere else. The same fields are read from YAML, written back
// as the resolved config and printed into configs/REFERENCE.md, by the descriptions in fields.h. Loading: load_config.h.
#pragma once

#include "clients/data/dataset.h"
#include "clients/data/feature_skew.h"
#include "clients/data/poison.h"
#include "clients/engine/engine_name.h"
#include "clients/engine/precision.h"
#include "clients/models/layer_list.h"
#include "sim/config/choices.h"
#include "sim/devices/devices_config.h"
#include "sim/selection/sampler.h"
#include "sim/strategies/strategy.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::sim {

struct PartitionConfig {
    std::string scheme = "iid";  // name in clients/data/partition.h
    static constexpr std::int64_t kDefaultClients = 10;
    // Empty: kDefaultClients; with a scheme that names clients, the number in the data after they are read.
    std::optional<std::int64_t> clients;
    double holdout = 0.0;  // share of each client's examples held out from training, in [0, 1)
    Values values;         // of the scheme's keys; complete once loaded
};

struct AugmentConfig {
    std::int64_t crop_padding = 0;  // pixels; 0: images stay where they are
    Flip flip = Flip::None;

    clients::Augmentation resolved() const { return {static_cast<std::uint32_t>(crop_padding), flip == Flip::Horizontal}; }
};

/// Feature skew: how clients' examples differ.
struct SkewConfig {
    Rotation rotation = Rotation::None;
    double noise = 0.0;  // variance of the last client's

    clients::FeatureSkew resolved() const {
        return {rotation == Rotation::None ? 1U : rotation == Rotation::HalfTurns ? 2U : 4U, noise};
    }
};

/// How attackers change the examples that they train on.
struct PoisonConfig {
    Chosen kind{"none"};  // of clients/data/poison.h
    double share = 0.2;   // of all clients that attack

    bool any() const { return kind.name != "none"; }
    bool triggers() const { return clients::poison_spec(kind.name).triggered != nullptr; }
};

struct DataConfig {
    std::string format;  // of clients/data/data_format.h
    Values values;       // of the format's keys; complete once loaded, paths absolute
    DataSharing shared = DataSharing::Own;
    std::optional<std::int64_t> root_examples;  // only the server has them; empty: none
    clients::Normalization normalize;
    AugmentConfig augment;
    SkewConfig skew;
    PoisonConfig poison;
    PartitionConfig partition;
};

struct ModelConfig {
    std::string name;                   // of the catalog of models
    Values values;                      // of its keys; complete once loaded, with defaults
    clients::LayerList layers;          // in place of a name
    std::filesystem::path file{};       // in place of both: a graph of torch.export; absolute once loaded
    std::string file_sha256{};          // of that file; empty: unknown
    GraphUse graph = GraphUse::Auto;    // for a file
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
    std::optional<std::int64_t> cohort;        // clients per round; a loaded config has either cohort or participation
    std::optional<double> participation;       // fraction in (0, 1]; cohort = max(1, round(participation * clients))
    std::optional<std::int64_t> local_epochs;  // a loaded config has either local_epochs or local_steps
    std::optional<std::int64_t> local_steps;
    std::int64_t batch_size = 32;
    std::optional<std::int64_t> clients_per_slot;  // a power of two; empty: auto
    std::int64_t clients_at_once = 1;              // a power of two, at most clients_per_slot if given
    std::optional<clients::Engine> engine;         // empty: auto
    clients::Precision precision = clients::Precision::F32;
    bool graph = false;
    Chosen optimizer{"sgd"};          // of aggregation/math/client_optimizer.h
    std::optional<double> clip_norm;  // empty: no clipping
    LrScheduleConfig lr_schedule;
    Chosen loss;                         // of clients/tasks/loss.h; the task's own once loaded, if none is given
    std::vector<std::string> measure{};  // of clients/tasks/measures.h

    std::int64_t least_per_slot() const { return clients_per_slot.value_or(clients_at_once); }
};

struct StrategyConfig {
    std::string name = "fedavg";
    Weighting weighting = Weighting::Examples;
    StrategyParts parts;            // complete once loaded: names and values
    std::filesystem::path file{};   // of a method; absolute once loaded; empty: none
    std::filesystem::path rule{};   // of a Python file in place of an aggregator; absolute once loaded; empty: none
    std::string rule_sha256{};      // PythonCode::sha256; empty: unknown
    std::filesystem::path visit{};  // of a Python file in place of local training; absolute once loaded; empty: none
    std::string visit_sha256{};     // PythonCode::sha256; empty: unknown
    std::string gradient{};         // a formula in place of a method's file; empty: none
    std::string file_sha256{};      // Method::sha256; empty: unknown

    /// The method's name, or that of the catalog.
    const std::string& title() const { return parts.method != nullptr ? parts.method->name : name; }
    /// Whether clients keep memories that a visit in Python declares.
    bool visits_keep() const { return parts.visit != nullptr && !parts.visit->memory.empty(); }
    /// The formulas of the method, or of the local rule.
    aggregation::formulas::MethodFormulas formulas() const { return formulas_of(parts_of(name, parts)); }
    /// Whether the formulas need an arena slot for each client.
    bool trains_alone() const { return parts.method != nullptr ? parts.method->trains_alone() : formulas().trains_alone(); }
    /// Whether the strategy keeps state for each client.
    bool client_state() const { return local_rule_of(parts_of(name, parts)).client_state(); }
    /// Whether the sum of each client's updates is kept for the aggregator.
    bool histories() const { return aggregation::aggregator_spec(parts_of(name, parts).aggregator.name).histories; }
    /// Whether the clients' state is computed from steps of plain SGD.
    bool state_of_steps() const {
        const StrategyParts all = parts_of(name, parts);
        const LocalRuleSpec& own = local_rule_of(all);
        return own.state_of_steps != nullptr && own.state_of_steps(completed(all.local.values, own.keys));
    }
};

struct ModeConfig {
    std::string name = "synchronous";  // of sim/modes/mode_spec.h
    Values values;                     // of the mode's keys; complete once loaded

    /// Number of arrivals that end a round; empty: left out, or the mode has no such key.
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
    OnFailure policy = OnFailure::Abort;
    std::int64_t attempts = 3;                 // retry: of one client in one round
    std::int64_t min_updates = 1;              // a round with fewer accepted clients makes no server step
    std::optional<double> deadline_s = 300.0;  // per client; empty: auto
    std::optional<double> max_update_norm;     // larger updates are rejected like non-finite ones
};

struct CheckpointConfig {
    std::optional<std::int64_t> every;  // rounds; empty: auto
    std::int64_t keep = 2;              // number of newest checkpoints to keep
};

/// One item of `faults:`: the kind of failure, with the rounds and clients that it hits.
struct FaultConfig {
    std::string kind;                    // of clients/protocol/fault.h
    std::optional<std::int64_t> round;   // from 1; empty: every round
    std::optional<std::int64_t> client;  // empty: every client
    double rate = 1.0;                   // probability, for each matching round and client
    FaultedAttempts attempts = FaultedAttempts::First;
    Values values;  // of the kind's keys
    std::optional<std::uint32_t>
        repeat;  // no key, for a replay: hits only the client's sending with this number in the round, from 0
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

/// The privacy accountant's limits (sim/privacy); without both, no ε is computed.
struct PrivacyConfig {
    std::optional<double> epsilon;  // the largest allowed ε after all rounds
    std::optional<double> delta;

    bool wanted() const { return epsilon || delta; }
};

struct RunConfig {
    std::string name;  // default: the file's name without .yaml
    std::uint64_t seed = 1;
    SeedsConfig seeds;
    std::int64_t rounds = 10;
    Device device = Device::Auto;
    std::optional<std::int64_t> workers;  // empty: auto
    Mps mps = Mps::Auto;
    std::int64_t threads = 1;
    StateStore client_state = StateStore::Memory;
    Clock clock = Clock::Virtual;
    std::filesystem::path
        arrivals;  // clock wall: arrivals.csv of a run whose order is repeated; empty: none; absolute once loaded
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
    std::vector<Chosen> upload;    // steps of the chain (clients/uploads/upload.h)
    std::vector<Chosen> download;  // steps that compress what the server sends (clients/uploads/upload.h)
    Chosen attack{"none"};         // of colluding clients (aggregation/attacks)
    PrivacyConfig privacy;
    DevicesConfig devices;  // clock virtual

    /// Each of `seeds` that is given; `seed` in place of the others.
    Seeds all_seeds() const;

    /// The measures that clients compute of the model that they are sent (clients/tasks/measures.h), each once: those of training.measure, and
    /// those that a part of the run needs.
    std::vector<std::string> measures() const;

    /// Whether some clients are attackers of `attack`.
    bool has_attackers() const;

    /// Whether clients keep a residual of their upload chain for the next update.
    bool keeps_residual() const;
    /// Whether the server compresses what it sends.
    bool sends_compressed() const { return !download.empty(); }
    /// Whether it compresses the difference between its model and the model that clients have, not the model itself.
    bool sends_changes() const;
    /// Whether a step of the upload chain gets its clip norm from the server, which changes it from round to round.
    bool adapts_clip() const;

    /// Whether clients have state between rounds: of the strategy, its visit, the upload chain, or a local part of the model.
    bool keeps_client_state() const {
        return strategy.client_state() || strategy.histories() || strategy.visits_keep() || keeps_residual() ||
               model.has_local_part();
    }

    /// Whether the server weighs updates by their losses on the examples of the other clients.
    bool reads_cross_losses() const { return strategy.formulas().reads_cross_losses(); }

    /// Number of clients; an upper bound if it is known only from data that are not read yet.
    std::int64_t num_clients() const;

    /// Number of clients asked to train in a round.
    std::int64_t cohort_size() const;

    /// Whether a round ends with the updates of its whole cohort.
    bool waits_for_all() const;
};

}  // namespace fedhive::sim
