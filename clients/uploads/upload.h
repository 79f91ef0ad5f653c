// The upload chain: steps that transform a client's update between its last local step and its slot, in the worker's process.
// Each kind of step has a file in this folder, with its keys; to add one, write its file and add its line to upload.cpp.
//
//   local steps  ->  clip  ->  gaussian_noise  ->  slot      the update is  local - global
//   local steps  ->  error_feedback  ->  top_k  ->  slot     a real server would receive fewer bytes (UploadSize); the residual, which is
//                                                            not sent, stays with the client and is added to its next update
#pragma once

#include "aggregation/base/keys.h"
#include "aggregation/base/random.h"
#include "aggregation/memory/layout.h"
#include "aggregation/memory/memories.h"
#include "aggregation/memory/param_buffer.h"
#include "aggregation/memory/param_span.h"
#include "clients/protocol/reports.h"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::clients {

/// A step of the chain as plain data, which workers read from shared memory.
struct UploadStep {
    static constexpr std::size_t kMostKeys = 4;
    std::uint32_t kind = 0;                   // index in upload_catalog()
    std::array<double, kMostKeys> numbers{};  // values of its keys, in their order
};

/// The chain of an experiment, the same for all clients and rounds.
struct UploadPlan {
    static constexpr std::size_t kMostSteps = 8;
    std::array<UploadStep, kMostSteps> steps{};
    std::uint32_t size = 0;           // steps in use
    std::uint64_t sampling_seed = 1;  // seed of the choice of misbehaving clients
    std::uint64_t num_clients = 1;    // in all
};

/// One client's update in the chain.
struct Upload {
    aggregation::ParamSpan local;        // [P]: the local model, P floats; the steps change it
    aggregation::ConstParamSpan global;  // [P]: the model from which the client began
    aggregation::ParamSpan scratch;      // [P]: for a step's own use
    const aggregation::Layout& layout;   // of the model
    const aggregation::Layout& sent;     // the tensors of `layout` that are sent, at the same offsets
    const UploadPlan& plan;
    std::uint64_t key = 0;  // of this client, round and step of the chain; random draws depend on it alone
    std::uint32_t client_id = 0;
    std::uint64_t num_together = 1;  // number of updates in the server step that takes this one
    double clip_norm = 0.0;          // clip norm of this round, for a step that adapts it
    double norm_bound = 0.0;         // bound on the update's norm at this step; 0: none
    bool within_clip = true;         // a step that adapts the clip norm did not have to clip the update
    bool has_left_out = false;       // an earlier step left values out; they are zeros
    bool keeps_residual = false;     // an earlier step keeps the residual
};

/// The size of an update on its way to a real server. A run always moves floats; the size is
/// reported, and counts on the virtual clock.
struct UploadSize {
    std::uint64_t parameters = 0;   // number of parameters sent
    std::uint64_t bits_each = 32;   // bits for each of them
    std::uint64_t tensors = 0;      // number of tensors that contain them
    std::uint64_t other_bytes = 0;  // positions of the parameters, scales, the model's buffers

    std::uint64_t bytes() const { return (parameters * bits_each + 7) / 8 + other_bytes; }
};

struct UploadSpec {
    std::string name;
    std::string summary;  // effect and source: half a line
    std::vector<KeySpec> keys;
    bool bounds = false;  // after this step no update has a norm above its first key
    bool adapts = false;  // the first key is that norm in the first round only; later the server sends the norm with each task
    bool noise_of_sum = false;  // adds a share of the noise of a sum, whose deviation is first key * that norm; must be last
    bool leaves_out = false;    // sends some parameters only, so it comes before steps that round those
    bool rounds = false;        // also rounds the parameters that it sends
    bool hides = false;         // its noise makes a single update private, for the key `epsilon`
    bool needs_clip = false;    // uses the norm of an earlier step `clip`, which must not adapt
    /// The memories that a client keeps from one update to the next: the part of an update that the later steps, all of which compress, do not
    /// send.
    std::vector<aggregation::MemorySpec> memories{};
    void (*apply)(Upload& upload, const UploadStep& step) = nullptr;  // null: the chain itself does the work
    /// Norm of the step's output for an update of `values` values, as a multiple of the clip's norm; null: at most 1.
    double (*stretch)(const UploadStep& step, std::uint64_t values) = nullptr;
    /// Updates a size for this step; null: the step does not compress.
    void (*shrink)(UploadSize& size, const UploadStep& step) = nullptr;

    bool keeps_residual() const { return !memories.empty(); }
};

/// All kinds of steps, in the order of REFERENCE.md.
const std::vector<UploadSpec>& upload_catalog();

/// The steps that can also compress what the server sends: those that compress, and error_feedback.
const std::vector<UploadSpec>& download_catalog();

/// A step by its name, with the values of its keys. The name must exist.
UploadStep upload_step(const std::string& name, const Values& values);

/// The size of an update of the tensors of `sent`; the same for every client, since it depends on the chain alone.
UploadSize upload_size(const UploadPlan& plan, const aggregation::Layout& sent);

/// Standard deviation of the chain's noise in the sum of a server step's updates, if each client sends one update; 0: no noise. clip_norm: of
/// the round, for a step that adapts it.
double noise_of_sum(const UploadPlan& plan, double clip_norm = 0.0);

/// The chain's step that adapts the clip norm; empty if it has none.
std::optional<UploadStep> adapting_step(const UploadPlan& plan);

/// The report of a chain that adapts: 1 if the update was within the norm, 0 if not.
inline constexpr std::string_view kWithinClip = "within_clip";
ReportSpec report_of_clip();

/// Applies a chain of steps to updates.
class UploadChain {
public:
    UploadChain() = default;  // no steps: updates stay unchanged
    /// sent: the tensors that are sent, at the offsets of `layout`. Memory: P floats in the spans' memory space from the first apply() on, and
    /// the trainable ones once more if a residual is kept.
    UploadChain(const UploadPlan& plan, aggregation::Layout layout, aggregation::Layout sent)
        : plan_(plan), layout_(std::move(layout)), sent_(std::move(sent)) {}
    UploadChain(const UploadPlan& plan, const aggregation::Layout& layout) : UploadChain(plan, layout, layout) {}

    bool empty() const { return plan_.size == 0; }

    /// local = global + chain(local - global). Waits for a device only if a step needs a norm, draws, or compresses.
    /// num_together: number of updates in the server step that takes this one; memories: the client's, for a chain that keeps a residual;
    /// clip_norm: of the round. Returns false if a step that adapts found the update longer than clip_norm.
    ///
    /// Shapes   both [P], in one memory space.
    /// Order    keyed by (seed of the client's training, round, client, step of the chain):
    ///          same bits in any worker, at any time.
    bool apply(aggregation::ParamSpan local, aggregation::ConstParamSpan global, std::uint64_t seed, std::uint32_t round,
               std::uint32_t client_id, std::uint64_t num_together, const aggregation::VisitMemories& memories = {},
               double clip_norm = 0.0);

    /// sent = before + C(sent - before), with C the steps of a chain that compresses: the model that clients get if they have `before` and
    /// the server sends `sent`. A step error_feedback changes nothing, since the lost part stays in the difference to what clients have;
    /// it only keeps later steps from scaling up.
    ///
    /// Shapes   both [P], in one memory space.
    /// Order    keyed by (seed, round, step of the chain).
    void compress(aggregation::ParamSpan sent, aggregation::ConstParamSpan before, std::uint64_t seed, std::uint32_t round);

private:
    void reserve(aggregation::ParamSpan like);
    void add_residual(const Upload& upload, aggregation::ConstParamSpan before);
    void write_residual(const Upload& upload, aggregation::ParamSpan after) const;

    UploadPlan plan_;
    aggregation::Layout layout_, sent_;
    aggregation::ParamBuffer scratch_;
    aggregation::ParamBuffer wanted_;  // [trainable]: the update plus the earlier residual, in a chain that keeps one
};

// Helpers for the steps' files.

/// local = global + f32(factor * (local - global)).
void scale_upload(Upload& upload, double factor);

/// Calls `add` with each block of at most 4,096 of a tensor's values, and a stream of its own. Waits for a device.
///
/// Shapes   values: [layout.num_floats()]; padding between tensors stays unchanged.
/// Order    the streams depend on the key, the tensor and the block.
void add_drawn(aggregation::ParamSpan values, const aggregation::Layout& layout, std::uint64_t key,
               const std::function<void(const Stream& stream, std::span<float> block)>& add);

/// values[i] += f32(std * z[i]), z standard normal, for each value of the model; padding between tensors stays.
///
/// Shapes   values: [layout.num_floats()]. Waits for a device.
/// Order    z depends on the key only.
void add_noise(aggregation::ParamSpan values, const aggregation::Layout& layout, std::uint64_t key, double std);

/// Whether the client is among the misbehaving clients: round(share * num_clients) of them, the same in every
/// round, drawn from plan.sampling_seed.
bool misbehaves(const Upload& upload, double share);
bool misbehaves(std::uint32_t client_id, double share, std::uint64_t num_clients, std::uint64_t sampling_seed);

}  // namespace fedhive::clients
