// Wraps a LibTorch step and records its kernels as a CUDA graph, once for each shape of a step. Later steps of that shape replay the graph
// in one launch instead of hundreds. Gradient rules and the optimiser are not recorded.
#pragma once

#include "clients/engine/training_step.h"
#include "clients/models/tensor.h"

#include <memory>
#include <vector>

namespace fedhive::clients {

/// A step that can be recorded: prepare() does the host's work, and compute_prepared() uses memory at fixed addresses only.
class RecordableStep : public TrainingStep {
public:
    /// Fixes the addresses for batches of at most `largest_batch` examples. Steps may then be padded, with other last bits.
    virtual void fix_places(std::size_t largest_batch) = 0;

    /// Does the host's work for a step of these batches. Returns a number for the step's shape: steps of one shape run the same kernels on
    /// other numbers.
    virtual std::size_t prepare(std::span<const RowBatch> batches) = 0;

    /// Computes the step that was prepared last. All steps of one shape leave their gradients at the same addresses.
    virtual void compute_prepared() = 0;

    /// Tensors that compute_prepared() changes and later steps read.
    virtual std::vector<at::Tensor> what_computing_changes() = 0;

    void compute_gradients(std::span<const RowBatch> batches) final;
};

/// `step` must outlive the result. Throws Fault in a build without training on CUDA.
std::unique_ptr<TrainingStep> make_recorded_step(RecordableStep& step, std::size_t largest_batch);

}  // namespace fedhive::clients
