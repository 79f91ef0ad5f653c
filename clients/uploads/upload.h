// What happens to a client's update between its last local step and its slot: an upload chain, step after step, in the client's process. Each
// kind of step lies in a file of this folder, with its keys; to add one, write its file and add its line to upload.cpp.
//
//   local steps  ->  clip  ->  gaussian_noise  ->  slot         what leaves is  local - global
#pragma once

#include "aggregation/base/keys.h"
#include "aggregation/memory/layout.h"
#include "aggregation/memory/param_buffer.h"
#include "aggregation/memory/param_span.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace fedhive::clients {

/// A step of the chain as plain data, which workers read from shared memory.
struct UploadStep {
    static constexpr std::size_t kMostKeys = 2;
    std::uint32_t kind = 0;                   // place in upload_catalog()
    std::array<double, kMostKeys> numbers{};  // of its keys, in their order
};

/// The chain of an experiment, the same for all clients and rounds.
struct UploadPlan {
    static constexpr std::size_t kMostSteps = 8;
    std::array<UploadStep, kMostSteps> steps{};
    std::uint32_t size = 0;           // steps in use
    std::uint64_t sampling_seed = 1;  // of who misbehaves
    std::uint64_t num_clients = 1;    // in all
    std::uint64_t num_together = 1;   // updates that one server step takes
};

/// One client's update on its way.
struct Upload {
    aggregation::ParamSpan local;        // [P], what a step changes
    aggregation::ConstParamSpan global;  // [P], where the client began
    aggregation::ParamSpan scratch;      // [P], for a step's own use
    const aggregation::Layout& layout;   // of both
    const UploadPlan& plan;
    std::uint64_t key = 0;  // of this client in this round and this step of the chain: what is drawn depends on nothing else
    std::uint32_t client_id = 0;
    double norm_bound = 0.0;  // no update of this experiment is longer here; 0: there is no bound
};

struct UploadSpec {
    std::string name;
    std::string summary;  // what it does to the update, and its source: half a line
    std::vector<KeySpec> keys;
    bool bounds = false;        // the first key is the norm that no update exceeds behind it
    bool needs_bound = false;   // the draws are as long as that norm, so a step that bounds comes before, and none behind
    bool weighs_alike = false;  // what is said of it holds where all updates weigh the same
    void (*apply)(Upload& upload, const UploadStep& step) = nullptr;
};

/// All kinds of steps, in the order of REFERENCE.md.
const std::vector<UploadSpec>& upload_catalog();

/// A step by its name, with the values of its keys. The name must exist.
UploadStep upload_step(const std::string& name, const Values& values);

/// The chain at work.
class UploadChain {
public:
    UploadChain() = default;  // none: every update leaves as it is
    /// Memory: a vector of [P] in the spans' space, from the first apply() on.
    UploadChain(const UploadPlan& plan, aggregation::Layout layout) : plan_(plan), layout_(std::move(layout)) {}

    bool empty() const { return plan_.size == 0; }

    /// local <- global + what leaves of local - global. Nothing waits for a device but what has to know a norm, or draws.
    ///
    /// Shapes   both [P], in one memory space.
    /// Order    keyed by (seed of the client's training, round, client, step of the chain): same bits in any worker, at any time.
    void apply(aggregation::ParamSpan local, aggregation::ConstParamSpan global, std::uint64_t seed, std::uint32_t round,
               std::uint32_t client_id);

private:
    UploadPlan plan_;
    aggregation::Layout layout_;
    aggregation::ParamBuffer scratch_;
};

// For steps' files.

/// local <- global + f32(factor * (local - global)).
void scale_upload(Upload& upload, double factor);

/// local[i] += f32(std * z[i]), z standard normal, for each value of the model; what lies between its tensors stays.
void add_noise(Upload& upload, double std);

/// Whether the client is one of the share of all clients, rounded, that misbehaves: the same ones in every round, drawn from the seed.
bool misbehaves(const Upload& upload, double share);

}  // namespace fedhive::clients
