// A network of torch.export.save, run by LibTorch: its tensors, and the prepared graph for training and for evaluation.
#pragma once

#include "clients/data/dataset.h"
#include "clients/exported/execution_plan.h"
#include "clients/exported/program.h"

#include <ATen/core/Tensor.h>

#include <vector>

namespace fedhive::clients::exported {

class GraphNetwork {
public:
    enum class FrozenValues { Loaded, ToBeSet };

    /// Copies the file's values into its tensors, except frozen ones with ToBeSet, which the caller sets; `program` is not
    /// needed afterwards. Throws ConfigError if the graph does not match its operations' schemas, or does
    /// not take examples of shape `example`.
    GraphNetwork(const Program& program, const ExampleShape& example, FrozenValues frozen);

    /// examples: [B, channels, height, width] f32, also for tokens; returns the graph's output as f32. Only tensors of role
    /// Moved change, and only in training. Dropout draws from LibTorch's host generator. Throws LibTorch's exceptions, and
    /// Fault for a write to any other tensor of the network.
    at::Tensor forward(const at::Tensor& examples, bool training) const;

    /// Trained parameters, then moved buffers, in the layout's order.
    std::vector<at::Tensor*> tensors() { return places(0, num_parameters_ + num_moved_); }

    /// Frozen parameters, in the order of their layout.
    std::vector<at::Tensor*> frozen() { return places(num_parameters_ + num_moved_, num_frozen_); }

private:
    std::vector<at::Tensor*> places(std::size_t first, std::size_t count);

    std::vector<at::Tensor> held_;  // tensors(), then frozen(), then all others
    std::size_t num_parameters_ = 0, num_moved_ = 0, num_frozen_ = 0;
    std::vector<std::size_t> order_;  // index in held_ of each of the graph's inputs except the last
    std::vector<std::int64_t> input_;
    bool takes_tokens_ = false;
    std::unique_ptr<ExecutionPlan> training_, evaluation_;
};

}  // namespace fedhive::clients::exported
