// What happens to a client's update between its last local step and its slot: an upload chain, step after step, in the client's process. Each
// kind of step lies in a file of this folder, with its keys; to add one, write its file and add its line to upload.cpp.
//
//   local steps  ->  clip  ->  gaussian_noise  ->  slot         what leaves is  local - global
//   local steps  ->  error_feedback  ->  top_k  ->  slot        a real server would get fewer bytes (UploadSize); what it does not get now
//                                                               stays with the client, and is added to its next update
#pragma once

#include "aggregation/base/keys.h"
#include "aggregation/memory/channels.h"
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
};

/// What a client keeps of one update for its next one.
struct Residual {
    aggregation::ConstParamSpan before;  // [trainable], in host memory; empty: nothing, as before a client's first update
    aggregation::ParamSpan after;        // [trainable], anywhere; empty: nobody wants to know
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
    std::uint64_t num_together = 1;  // updates that its server step is to take
    double norm_bound = 0.0;         // no update of this experiment is longer here; 0: there is no bound
    bool has_left_out = false;       // a step before has; a zero is what it left out
    bool keeps_residual = false;     // a step before has seen to it
};

/// What an update is on its way to the server. A run moves it as floats whatever its size; the size is told, and counts on the virtual clock.
struct UploadSize {
    std::uint64_t parameters = 0;   // of which something is sent, with …
    std::uint64_t bits_each = 32;   // … so many each
    std::uint64_t tensors = 0;      // they lie in
    std::uint64_t other_bytes = 0;  // which parameters they are, scales, the model's buffers

    std::uint64_t bytes() const { return (parameters * bits_each + 7) / 8 + other_bytes; }
};

struct UploadSpec {
    std::string name;
    std::string summary;  // what it does to the update, and its source: half a line
    std::vector<KeySpec> keys;
    bool bounds = false;        // the first key is the norm that no update exceeds behind it
    bool noise_of_sum = false;  // a share of noise, which in a sum of updates is the first key times that norm; the last step
    bool leaves_out = false;    // most parameters, so it comes before what rounds those that are left
    /// What a client keeps of one update for its next one: what steps behind take off it; all of them compress.
    std::vector<aggregation::ChannelSpec> channels{};
    void (*apply)(Upload& upload, const UploadStep& step) = nullptr;  // null: the chain itself sees to it
    /// What it makes of a size; null: it compresses nothing.
    void (*shrink)(UploadSize& size, const UploadStep& step) = nullptr;

    bool keeps_residual() const { return !channels.empty(); }
};

/// All kinds of steps, in the order of REFERENCE.md.
const std::vector<UploadSpec>& upload_catalog();

/// A step by its name, with the values of its keys. The name must exist.
UploadStep upload_step(const std::string& name, const Values& values);

/// Of every client's update of a model: it follows from the chain alone.
UploadSize upload_size(const UploadPlan& plan, const aggregation::Layout& layout);

/// Standard deviation of the noise that the chain promises to the sum of a server step's updates, where a client counts in it as one update
/// does; 0: it adds none.
double noise_of_sum(const UploadPlan& plan);

/// The chain at work.
class UploadChain {
public:
    UploadChain() = default;  // none: every update leaves as it is
    /// Memory: a vector of [P] in the spans' space, from the first apply() on, and another one where a rest is kept.
    UploadChain(const UploadPlan& plan, aggregation::Layout layout) : plan_(plan), layout_(std::move(layout)) {}

    bool empty() const { return plan_.size == 0; }

    /// local <- global + what leaves of local - global. Nothing waits for a device but what has to know a norm, draws, or compresses.
    /// num_together: updates that its server step is to take; residual: looked at, and written, by a chain that keeps one.
    ///
    /// Shapes   both [P], in one memory space.
    /// Order    keyed by (seed of the client's training, round, client, step of the chain): same bits in any worker, at any time.
    void apply(aggregation::ParamSpan local, aggregation::ConstParamSpan global, std::uint64_t seed, std::uint32_t round,
               std::uint32_t client_id, std::uint64_t num_together, const Residual& residual = {});

private:
    void add_residual(const Upload& upload, aggregation::ConstParamSpan before);
    void write_residual(const Upload& upload, aggregation::ParamSpan after) const;

    UploadPlan plan_;
    aggregation::Layout layout_;
    aggregation::ParamBuffer scratch_;
    aggregation::ParamBuffer wanted_;  // [trainable]: the update with the rest of the one before, of a chain that keeps one
};

// For steps' files.

/// local <- global + f32(factor * (local - global)).
void scale_upload(Upload& upload, double factor);

/// values[i] += f32(std * z[i]), z standard normal, for each value of the model; what lies between its tensors stays.
///
/// Shapes   [P] of the layout. Waits for a device.
/// Order    z by the key alone.
void add_noise(aggregation::ParamSpan values, const aggregation::Layout& layout, std::uint64_t key, double std);

/// Whether the client is one of the share of all clients, rounded, that misbehaves: the same ones in every round, drawn from the seed.
bool misbehaves(const Upload& upload, double share);

}  // namespace fedhive::clients
