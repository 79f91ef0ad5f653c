// The batches of many rows as tensors, gathered where the examples lie (batch_tensors.h, with rows). A step's list says which examples they are
// and what each counts. It goes up to a device in one copy that nobody waits for, and the batches are gathered there.
#pragma once

#include "clients/training/batch_tensors.h"

namespace fedhive::clients {

/// Tensors over memory of fixed places, large enough for the largest step. A shorter batch is filled up with its own first example, at weight
/// 0: a value that its row computes anyway, so nothing is infinite that would not be. Rows at rest hold the first example of all, at weight 0.
class RowBatches {
public:
    /// The examples must outlive the batches, and lie where the device is.
    RowBatches(const ExamplesView& from, const Normalization& normalization, at::Device device);

    /// Memory for that many rows and examples of each: it does not move before a larger step comes.
    void reserve(std::size_t rows, std::size_t size);

    /// Says what gather() fetches: for each row a batch of `size`. Throws Fault for a larger one, and for an index that there is not.
    void list(std::span<const RowBatch> batches, std::size_t size);

    /// What was listed last, or on a device will be when it gets there: so a gather can be recorded and run again with other lists of as many
    /// rows. The tensors are valid until the next list.
    void gather();

    /// What gathering on the host has taken so far.
    double gather_s() const { return gathering_.seconds(); }

    TargetShape target() const { return from_.target; }

    at::Tensor examples;  // [rows, size, channels, height, width] f32
    at::Tensor targets;   // [rows, size], [rows, size, positions] i64, or [rows, size, width] f32
    at::Tensor weights;   // [rows, size] f32: what an example counts in its row's mean loss
    at::Tensor counts;    // [rows] f32: examples of each row's batch

private:
    void check(std::span<const RowBatch> batches, std::size_t size) const;
    void write_looks(std::span<const RowBatch> batches, std::uint32_t* words);
    std::size_t words_of(std::size_t rows, std::size_t size) const;
    std::size_t looks_at() const { return rows_ * (2 * size_ + 1); }  // words before them
    std::size_t num_listed() const { return rows_ * size_; }

    ExamplesView from_;
    BatchGather gather_;
    Stopwatch gathering_;
    at::Device device_;
    std::size_t rows_ = 0, size_ = 0;  // of the list
    // 32-bit words: [rows, size] indices | [rows, size] weights | [rows] counts, and where examples are augmented [rows, size] looks
    at::Tensor list_;
    std::vector<std::uint32_t> looks_;  // of the row in hand
    at::Tensor all_examples_, all_targets_;
    at::Tensor scale_, shift_;  // [channels] on the device, if there is one
};

}  // namespace fedhive::clients
