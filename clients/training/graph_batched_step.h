// A local step of many clients at once, recorded as two CUDA graphs for each number of rows in a start, and run again from then on. Same bits as
// the padded step that is recorded (LibtorchBatchedStep::pad).
//
//   each step  list of examples and weights goes up
//   recorded   gather ─▶ forward, backward of all rows ─▶ proximal term ─▶ loss sums
//   recorded   the optimiser's step of the rows that had a batch; between the two a row's parameters may be changed, as in any other step
//
// Rows at rest are computed, and batches are filled up, so that a start has one shape and few graphs are needed: what decides who rests is
// read from the list. What recorded steps need besides: step_graphs.h.
#pragma once

#include "clients/training/libtorch_batched_step.h"

#include <memory>

namespace fedhive::clients {

/// For a model and training examples in device memory. `eager` must outlive the step and serve nobody else; batches hold at most `batch_size`
/// examples. Throws Fault in a build without training on CUDA.
std::unique_ptr<BatchedStep> make_graph_batched_step(LibtorchBatchedStep& eager, std::size_t batch_size);

}  // namespace fedhive::clients
