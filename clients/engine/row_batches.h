// The batches of many clients, one a row, as tensors, gathered where the examples are stored (as batch_tensors.h does for one client). A
// step's list has the examples' indices and weights. It is uploaded to a device in one asynchronous copy, and the batches are gathered
// there.
#pragma once

#include "clients/engine/batch_tensors.h"

namespace fedhive::clients {

/// Tensors at fixed addresses, large enough for the largest step. A shorter batch is padded with copies of its first example at weight 0,
/// whose value the row computes in any case, so that padding adds no infinity. Rows at rest (training_step.h) hold example 0 at weight 0.
class RowBatches {
public:
    /// The examples must outlive the batches, and be in the device's memory space.
    RowBatches(const ExamplesView& from, const Normalization& normalization, at::Device device);

    /// Reserves memory for `rows` rows of `size` examples; its addresses stay fixed until a larger step comes.
    void reserve(std::size_t rows, std::size_t size);

    /// Sets the list for gather(): for each row a batch, padded to `size`. Throws Fault for a
    /// larger batch or an index out of range.
    void list(std::span<const RowBatch> batches, std::size_t size);

    /// Gathers the examples of the last list; a device reads the list when it runs the gather. A gather can therefore be
    /// recorded and replayed with other lists of the same number of rows. The tensors are valid until the next list().
    void gather();

    /// Seconds spent so far in gathering on the host.
    double gather_s() const { return gathering_.seconds(); }

    TargetShape target() const { return from_.target; }

    at::Tensor examples;  // [rows, size, channels, height, width] f32
    at::Tensor targets;   // [rows, size], [rows, size, positions] i64, or [rows, size, width] f32
    at::Tensor weights;   // [rows, size] f32: an example's weight in its row's mean loss
    at::Tensor counts;    // [rows] f32: examples of each row's batch

private:
    void check(std::span<const RowBatch> batches, std::size_t size) const;
    void write_transforms(std::span<const RowBatch> batches, std::uint32_t* words);
    std::size_t words_of(std::size_t rows, std::size_t size) const;
    std::size_t transforms_at() const { return rows_ * (2 * size_ + 1); }  // number of words before the transforms
    std::size_t num_listed() const { return rows_ * size_; }

    ExamplesView from_;
    BatchGather gather_;
    Stopwatch gathering_;
    at::Device device_;
    std::size_t rows_ = 0, size_ = 0;  // of the list
    // 32-bit words: [rows, size] indices | [rows, size] weights | [rows] counts | with augmentation, [rows, size] transforms
    at::Tensor list_;
    std::vector<std::uint32_t> transforms_;  // of one row; scratch
    at::Tensor all_examples_, all_targets_;
    at::Tensor scale_, shift_;  // [channels] on the device, if there is one
};

}  // namespace fedhive::clients
