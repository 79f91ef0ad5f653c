// A local step by LibTorch whose arithmetic is recorded as a CUDA graph, once for each shape of a step, and run again: one launch in place of
// hundreds. Around any of its engines; what an algorithm makes of gradients, and the optimiser, are outside the recording.
#pragma once

#include "clients/models/tensor.h"
#include "clients/training/training_step.h"

#include <memory>
#include <vector>

namespace fedhive::clients {

/// A step whose computing can be recorded: what the host has to do for it comes before, and all else lies at fixed places.
class RecordableStep : public TrainingStep {
public:
    /// From now on the places are fixed, for batches of at most so many examples. The last bits may be those of padded steps.
    virtual void fix_places(std::size_t largest_batch) = 0;

    /// What a step of these batches needs of the host. Returns its shape: steps of one shape are the same work on other numbers.
    virtual std::size_t prepare(std::span<const RowBatch> batches) = 0;

    /// The work of the step that was prepared last, whose gradients a step of that shape leaves in the same places each time.
    virtual void compute_prepared() = 0;

    /// In which something stays behind that another run finds.
    virtual std::vector<at::Tensor> what_computing_changes() = 0;

    void compute_gradients(std::span<const RowBatch> batches) final;
};

/// The step must outlive it. Throws Fault in a build without training on CUDA.
std::unique_ptr<TrainingStep> make_recorded_step(RecordableStep& step, std::size_t largest_batch);

}  // namespace fedhive::clients
