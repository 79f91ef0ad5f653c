// A checkpoint: everything a resumed run needs to compute the same bits, as one safetensors file.
//
//   tensors    model.<name>, server.<moment>.<name>,    F32, one for each tensor of the model, without padding
//              base.<version>.<name>                    models that clients in flight started from
//              frozen.<name>                            F32, frozen parameters
//              client.<id>                              F32, a client's state
//   metadata   format, sha256                           at the same place in every format: any fedhive can tell a damaged file
//                                                       from one of another version
//              keepers                                  number of clients with state, hence of tensors client.<id>
//              record                                   names and floats of the memories in client.<id>, if there are several
//              round, version, config, …                text; numbers in a form that is read back exactly
//              sampler                                  Sampler::state(), if the sampler remembers anything
//              weights                                  WeightRule::state(), likewise
//              clip_norm                                of adaptive_clip
//              sent_round, heard                        of a server that sends changes: SentModel
//
// When checkpoints are written and kept: checkpointer.h; how a run is resumed: resume.h.
#pragma once

#include "aggregation/base/error.h"
#include "aggregation/memory/client_states.h"
#include "aggregation/memory/layout.h"
#include "aggregation/memory/param_span.h"
#include "sim/round/round_record.h"
#include "sim/state/state_file.h"

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fedhive::sim {

inline constexpr int kCheckpointFormat = 4;

/// The environment that the last bits of results depend on, besides the config.
struct BitsEnvironment {
    std::string libtorch;
    std::string cpu_capability;
    std::string device;  // cpu | cuda
    std::string gpu;     // architecture and driver; empty on the CPU
    std::string engine = "libtorch";
    std::string cpu_vendor{};  // if LibTorch trains on the CPU; else empty, as in older files
    std::string model_form{};  // of model.file: graph | layers; empty for other models, and in older files
};

/// "LibTorch 2.10.0 then, 2.11.0 now", one text per difference.
std::vector<std::string> differences(const BitsEnvironment& then, const BitsEnvironment& now);

/// The end of a table: its length in bytes, and the CRC-32 of these, which older checkpoints lack.
struct TableEnd {
    std::uint64_t bytes = 0;
    std::optional<std::uint32_t> crc{};
};

struct TablePositions {
    TableEnd rounds;
    TableEnd clients;
    TableEnd arrivals;
    TableEnd fairness;  // 0 bytes if there is no such table
};

/// Totals of the rounds so far, for the manifest and for conditions on past rounds.
struct Progress {
    double wall_s = 0.0;  // since the run's start, without work lost to a kill
    std::array<double, kNumPhases> phase_seconds{};
    std::optional<Metrics> test;  // of the last evaluation
    std::int64_t test_round = 0;  // its round, from 1
    std::int64_t last_step = 0;   // last round that changed the model, from 1; 0: none
    FailureCounts failures;
};

/// As in the manifest.
nlohmann::ordered_json to_json(const FailureCounts& counts);
nlohmann::ordered_json seconds_to_json(const Progress& progress);

struct Checkpoint {
    std::int64_t round = 0;     // rounds finished
    std::uint64_t version = 0;  // server steps applied
    std::string config;         // resolved, as config.yaml had it
    BitsEnvironment environment;
    std::uint64_t data_fingerprint = 0;
    std::uint64_t layout_fingerprint = 0;
    std::string record{};  // record_text() of the memories; empty in older files
    TablePositions tables;
    Progress progress;
    double now_s = 0.0;                  // simulated time
    std::vector<InFlight> in_flight;     // their models are vectors "base.<version>", except for `version`
    std::string sampler{};               // Sampler::state()
    std::string weights{};               // WeightRule::state()
    double clip_norm = 0.0;              // of the next round; 0: the chain adapts none
    std::int64_t sent_round = 0;         // SentModel::round, with changes
    std::vector<std::uint32_t> heard{};  // SentModel::heard
};

/// "base.17": the vector with the model of that version.
std::string base_name(std::uint64_t version);

/// A vector in host memory: "model", "server.<moment>" or "base.<version>", of the model's shape [P]; or "frozen", [F].
struct NamedVector {
    std::string name;
    aggregation::ConstParamSpan values;
    const aggregation::Layout* layout = nullptr;  // null: the model's
};

/// The bytes of the file, with views of client states and vectors instead of copies.
StatePieces encode_checkpoint(const Checkpoint& checkpoint, const aggregation::Layout& layout,
                              std::span<const NamedVector> vectors, const aggregation::ClientStates& states = {});

/// An unusable checkpoint: torn, changed, unreadable. The previous one may be usable.
struct DamagedCheckpoint : ConfigError {
    using ConfigError::ConfigError;
};

/// An intact checkpoint; its tensors are not in memory.
struct CheckpointFile {
    std::filesystem::path path;
    Checkpoint checkpoint;
    OpenState state;
};

/// Reads the whole file once, for its hash. Throws DamagedCheckpoint, or ConfigError naming both versions for an intact file of
/// another format. Both messages begin with the path.
CheckpointFile read_checkpoint(const std::filesystem::path& file);

/// One vector of the file, [P], padding 0. Throws ConfigError if the file has no such vector of that layout.
std::vector<float> read_vector(const CheckpointFile& file, const std::string& name, const aggregation::Layout& layout);

/// Restores the file's client states, one after the other. Throws ConfigError for a client or a length that does not fit
/// `states`.
void read_client_states(const CheckpointFile& file, aggregation::ClientStates& states);

}  // namespace fedhive::sim
