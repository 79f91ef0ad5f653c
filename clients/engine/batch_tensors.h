// Batches as tensors, gathered where the examples are stored. From host memory, the CPU gathers a batch (batches.h), which is then copied if
// the model is on a device. From device memory, a kernel gathers a batch by a list of indices. The list is uploaded once for many
// batches, without a wait; no batch crosses the bus.
#pragma once

#include "aggregation/base/clock.h"
#include "clients/data/batches.h"
#include "clients/data/transforms.h"
#include "clients/engine/training_step.h"
#include "clients/models/tensor.h"

#include <map>

namespace fedhive::clients {

/// The tensors into which batches are gathered, reused from step to step.
class BatchTensors {
public:
    BatchTensors(ExampleShape shape, const Normalization& normalization, at::Device device);

    struct Batch {
        at::Tensor examples;  // [B, channels, height, width] f32 on the device, B: examples of the batch
        at::Tensor targets;   // on the device: classes, [B] or [B, positions] i64, or numbers, [B, width] f32
    };

    /// Begins a client, whose batches are training examples of `from`, with the augmentation that from.augmentation asks for.
    void begin(const ExamplesView& from);

    /// To be called for each batch before gather(). If the data set is on the device, uploads the indices of this and later batches that the
    /// batch announces (RowBatch). Returns whether it announces any. Throws Fault for an index outside `from`.
    bool expect(const ExamplesView& from, const RowBatch& batch);

    /// Gathers an expected batch; valid until the next call. Throws Fault for an index outside `from`.
    Batch gather(const ExamplesView& from, const RowBatch& batch);

    /// For a data set on the device: fixes the tensors for batches of at most `rows`. A batch begins at position *cursor of the announced
    /// indices. The device reads *cursor when it runs the gather, so a gather can be recorded once and run again.
    void follow(const ExamplesView& from, std::size_t rows, const std::int64_t* cursor);

    /// Seconds spent so far in gathering on the host.
    double gather_s() const { return gathering_.seconds(); }

private:
    void reserve(std::int64_t rows, TargetShape target, const at::TensorOptions& where);
    void upload(const ExamplesView& from, std::span<const std::uint32_t> order, const TransformKey& augmentation_key);
    void upload(std::span<const std::uint32_t> words, std::size_t most, at::Tensor& to);
    Batch gather_on_device(const ExamplesView& from, const RowBatch& batch);
    const Batch& batch_of(std::size_t rows);

    BatchGather gather_;
    Stopwatch gathering_;
    Transforms transforms_{Augmentation{}};  // before a client begins: no augmentation
    PassFollower pass_;
    ExampleShape shape_;
    at::Device device_;
    at::Tensor examples_;  // target of gathers, with at least as many rows as the largest batch so far
    at::Tensor targets_;
    std::map<std::size_t, Batch> parts_;  // by batch size: views of the first rows, made on demand

    // Only for a data set on the device.
    std::span<const std::uint32_t> expected_;  // the uploaded indices
    at::Tensor order_;  // [n] 32-bit indices on the device, n: all examples of the data set, so that its address stays the same
    at::Tensor order_transforms_;  // [n] packed transforms (transforms.h) of order_, if examples are augmented
    at::Tensor scale_, shift_;     // [channels] on the device
    const std::int64_t* cursor_ = nullptr;
};

/// Scale or shift of a BatchGather in the device's memory.
at::Tensor to_device(std::span<const float> values, at::Device device);

/// A tensor [places…], or [places…, width] unless the target is a single class; of the target's type.
at::Tensor empty_targets(std::vector<std::int64_t> places, TargetShape target, const at::TensorOptions& where);

/// The destination of a gather's targets: a tensor of empty_targets().
element::TargetsTo targets_to(const at::Tensor& targets);

/// The terms of a gather from a data set on a device. transforms: one for each index of `order`, or null; scale, shift: those of BatchGather for
/// the data's type, in device memory.
element::GatherTerms terms_of(const ExamplesView& from, const std::uint32_t* order, const std::int64_t* cursor,
                              const at::Tensor& scale, const at::Tensor& shift, const std::uint32_t* transforms);

}  // namespace fedhive::clients
