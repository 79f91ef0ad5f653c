// A training step by LibTorch whose gradient is recorded as a CUDA graph, one for each size of a batch, and run again from then on: a local step
// is two launches instead of a hundred. Same bits as the eager step that is recorded (libtorch_step.h).
//
//   recorded   gather at the cursor ─▶ forward, backward ─▶ gradient in one piece ─▶ proximal term ─▶ loss sum, cursor += B
//   not        the optimiser's step, one kernel anyway: so a gradient may be changed in between, as in any other step
//
// What changes from step to step lies in device memory at fixed places: the epoch's list of indices and the cursor in it, the parameters, the
// model that a proximal term pulls towards. Dropout draws from LibTorch's generator, whose seed and offset are read when a graph runs.
// Source   CUDA Programming Guide, "CUDA Graphs"; LibTorch's at::cuda::CUDAGraph.
#pragma once

#include "clients/training/libtorch_step.h"

#include <memory>

namespace fedhive::clients {

/// For a model and training examples in device memory. `eager` must outlive the step and serve nobody else; batches hold at most `batch_size`
/// examples. Throws Fault in a build without training on CUDA.
std::unique_ptr<TrainingStep> make_graph_step(LibtorchStep& eager, std::size_t batch_size);

}  // namespace fedhive::clients
