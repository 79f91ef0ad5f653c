// Batches as tensors, gathered where the examples lie. On the host a batch is gathered by the processor (batches.h), and copied where the
// model is on a device. From a data set in device memory it is gathered there, by a kernel over a list of indices: the list goes up once for
// many batches, nobody waits for it, and no batch crosses the bus.
#pragma once

#include "aggregation/base/clock.h"
#include "clients/data/batches.h"
#include "clients/data/looks.h"
#include "clients/models/tensor.h"
#include "clients/training/training_step.h"

#include <map>

namespace fedhive::clients {

/// Tensors that batches are gathered into, reused from step to step.
class BatchTensors {
public:
    BatchTensors(ExampleShape shape, const Normalization& normalization, at::Device device);

    struct Batch {
        at::Tensor examples;  // [B, channels, height, width] f32 on the device
        at::Tensor targets;   // on the device: classes, [B] or [B, positions] i64, or numbers, [B, width] f32
    };

    /// The batches that follow are a client's, training examples of `from`, seen by their looks where they are augmented (ExamplesView::augmentation).
    void begin(const ExamplesView& from);

    /// To be called for each batch before it is gathered: what it announces goes up to the device, where the data set is there. True where that
    /// is anything. Throws Fault for an index outside `from`.
    bool expect(const ExamplesView& from, const RowBatch& batch);

    /// Of a batch that is expected; valid until the next call. Throws Fault for an index outside `from`.
    Batch gather(const ExamplesView& from, const RowBatch& batch);

    /// For a data set on the device: batches of at most `rows` always come in the same tensors, and begin in what was announced where `cursor`
    /// says when the device comes to it. So a gather can be recorded once and run again.
    void follow(const ExamplesView& from, std::size_t rows, const std::int64_t* cursor);

    /// What gathering on the host has taken so far.
    double gather_s() const { return gathering_.seconds(); }

private:
    void reserve(std::int64_t rows, TargetShape target, const at::TensorOptions& where);
    void upload(const ExamplesView& from, std::span<const std::uint32_t> order, const LookKey& look);
    void upload(std::span<const std::uint32_t> words, std::size_t most, at::Tensor& to);
    Batch gather_on_device(const ExamplesView& from, const RowBatch& batch);
    const Batch& batch_of(std::size_t rows);

    BatchGather gather_;
    Stopwatch gathering_;
    Looks looks_{Augmentation{}};  // before a client begins: as they are
    PassFollower pass_;
    ExampleShape shape_;
    at::Device device_;
    at::Tensor examples_;  // where they are gathered, at least as many rows as the largest batch so far
    at::Tensor targets_;
    std::map<std::size_t, Batch> parts_;  // by their number: the first rows of them, once such a batch has come

    // Only for a data set on the device.
    std::span<const std::uint32_t> expected_;  // what has gone up
    at::Tensor
        order_;  // [n] 32-bit indices on the device, n: the examples there are, so that it does not move while they are the same
    at::Tensor order_looks_;    // [n] likewise, beside order_, where examples are augmented
    at::Tensor scale_, shift_;  // [channels] on the device
    const std::int64_t* cursor_ = nullptr;
};

/// Scale or shift of a BatchGather where a device reads them.
at::Tensor to_device(std::span<const float> values, at::Device device);

/// [places…] and the width of the target, where an example has more than a class; of its type.
at::Tensor empty_targets(std::vector<std::int64_t> places, TargetShape target, const at::TensorOptions& where);

/// Where a gather puts targets: into a tensor of empty_targets().
element::TargetsTo targets_to(const at::Tensor& targets);

/// A gather from a data set on a device, `looks` beside `order` or null; scale and shift are BatchGather's for its type, there.
element::GatherTerms terms_of(const ExamplesView& from, const std::uint32_t* order, const std::int64_t* cursor,
                              const at::Tensor& scale, const at::Tensor& shift, const std::uint32_t* looks);

}  // namespace fedhive::clients
