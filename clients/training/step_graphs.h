// What recorded steps have in common (graph_step.h, graph_batched_step.h): work of a step recorded as CUDA graphs, by the size of the step, and
// the few things that lie at fixed places so that it can be run again. Only for files of a build with training on CUDA.
#pragma once

#include "aggregation/memory/param_buffer.h"
#include "clients/models/tensor.h"
#include "clients/protocol/task.h"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAStream.h>

#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace fedhive::clients {

class StepGraphs {
public:
    using Graph = std::unique_ptr<at::cuda::CUDAGraph>;

    StepGraphs();

    /// To be called when a client begins, or many that are trained at once; another proximal term ends what was recorded.
    /// Returns  the global model where the steps are to read it: with a proximal term a copy, in one place for all clients.
    aggregation::ConstParamSpan begin(aggregation::ConstParamSpan global, const Objective& objective,
                                      std::uint64_t dropout_seed);

    /// The graphs of a step of that size; the first time `record` makes them.
    const std::vector<Graph>& of(std::size_t size, const std::function<std::vector<Graph>()>& record);

    /// Runs `work` a few times and records it. `changes` are the tensors in which something stays behind that another run finds; they are put
    /// back, and so is how much of the generator was drawn. Throws DeviceFault where the recording itself fails: a worker ends with it, and its
    /// successor has whole libraries again.
    Graph record(const std::function<void()>& work, const std::vector<at::Tensor>& changes) const;

private:
    c10::cuda::CUDAStream side_;
    c10::MempoolId_t pool_;  // the graphs never run at the same time, and nothing in it outlives a step
    std::map<std::size_t, std::vector<Graph>> graphs_;
    float recorded_mu_ = 0.0F;
    aggregation::ParamBuffer global_;  // [P], with a proximal term
    std::uint64_t dropout_seed_ = 0;
};

/// [P] on the device, for StepGraphs::record.
at::Tensor tensor_of(aggregation::ParamSpan span);

}  // namespace fedhive::clients
