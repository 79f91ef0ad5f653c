// A checkpoint: what a resumed run needs to compute what it would have computed anyway, as one safetensors file.
//
//   tensors    model.<name>, server.<moment>.<name>,    F32, one for each tensor of the model, without padding
//              base.<version>.<name>                    models that clients in flight started from
//              frozen.<name>                            F32, parameters that nobody trains
//              client.<id>                              F32, what a client keeps
//   metadata   format, sha256                           at this place in every format, so that any fedhive can tell a damaged file from
//                                                       one of another version
//              keepers                                  how many clients keep something: as many tensors client.<id>
//              round, version, config, …                text; numbers so that they are read back exactly
//
// The sampler has no state: its streams are keyed by the round. Not known here: when a checkpoint is written and which ones stay
// (checkpointer.h), what a resumed run makes of it (resume.h).
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

inline constexpr int kCheckpointFormat = 3;

/// What decides last bits, besides the config.
struct BitsEnvironment {
    std::string libtorch;
    std::string cpu_capability;
    std::string device;  // cpu | cuda
    std::string gpu;     // architecture and driver; empty on the CPU
    std::string engine = "libtorch";
    std::string
        cpu_vendor{};  // where LibTorch trains on the CPU; empty where it does not matter, or nobody has written it down
    std::string model_form{};  // of model.file: graph | layers; empty of other models, and where nobody has written it down
};

/// "LibTorch 2.10.0 then, 2.11.0 now", one for each thing that differs.
std::vector<std::string> differences(const BitsEnvironment& then, const BitsEnvironment& now);

/// How far a table is written: bytes from its beginning, and their CRC-32, which older checkpoints do not have.
struct TableEnd {
    std::uint64_t bytes = 0;
    std::optional<std::uint32_t> crc{};
};

struct TablePositions {
    TableEnd rounds;
    TableEnd clients;
    TableEnd arrivals;
    TableEnd fairness;  // 0 bytes where there is no such table
};

/// What the rounds so far add up to, for the manifest and for conditions that look back.
struct Progress {
    double wall_s = 0.0;  // since the start of the run, what a killed process did after its last checkpoint left out
    std::array<double, kNumPhases> phase_seconds{};
    std::optional<Metrics> test;  // the last evaluation
    std::int64_t test_round = 0;  // its round, from 1
    std::int64_t last_step = 0;   // the last round whose updates became part of the model, from 1; 0: none
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
    TablePositions tables;
    Progress progress;
    double now_s = 0.0;               // simulated time
    std::vector<InFlight> in_flight;  // whose models are vectors "base.<version>", except for those of `version`
};

/// "base.17": the vector with the model of that version.
std::string base_name(std::uint64_t version);

/// "model", "server.<moment>" or "base.<version>": a vector of the model's shape in host memory, [P]; or "frozen", [F].
struct NamedVector {
    std::string name;
    aggregation::ConstParamSpan values;
    const aggregation::Layout* layout = nullptr;  // null: that of the model
};

/// The bytes of the file; what clients keep and the vectors are looked at, not copied.
StatePieces encode_checkpoint(const Checkpoint& checkpoint, const aggregation::Layout& layout,
                              std::span<const NamedVector> vectors, const aggregation::ClientStates& states = {});

/// A checkpoint that cannot be used: torn, changed, unreadable. The one before may do.
struct DamagedCheckpoint : ConfigError {
    using ConfigError::ConfigError;
};

/// A whole one. Of its tensors nothing is in memory.
struct CheckpointFile {
    std::filesystem::path path;
    Checkpoint checkpoint;
    OpenState state;
};

/// Reads all of it once, for its hash. Throws DamagedCheckpoint, and ConfigError naming both versions for a whole file of another format. Both begin with the path.
CheckpointFile read_checkpoint(const std::filesystem::path& file);

/// One vector of the file, [P], padding 0. Throws ConfigError when the file has no such vector of that layout.
std::vector<float> read_vector(const CheckpointFile& file, const std::string& name, const aggregation::Layout& layout);

/// Sets what the file's clients keep, one after the other. Throws ConfigError for a client or a length that `states` has no room for.
void read_client_states(const CheckpointFile& file, aggregation::ClientStates& states);

}  // namespace fedhive::sim
