// A network of torch.export.save as LibTorch runs it: its tensors, and the graph made ready for training and for evaluation.
#pragma once

#include "clients/data/dataset.h"
#include "clients/exported/plan.h"
#include "clients/exported/program.h"

#include <ATen/core/Tensor.h>

#include <vector>

namespace fedhive::clients::exported {

class Network {
public:
    enum class FrozenValues { Loaded, ToBeSet };

    /// Its tensors hold the file's values, but frozen ones where who makes it sets them; the program is not needed any more. Throws ConfigError
    /// where the graph does not fit its operations, or examples of that shape are not what it takes.
    Network(const Program& program, const ExampleShape& example, FrozenValues frozen);

    /// examples: [B, channels, height, width] f32, also where they are tokens; returns what the graph gives, as f32. Nothing but the tensors of role Moved changes, and they in
    /// training only; dropout draws from LibTorch's generator of the host. Throws what LibTorch throws, and Fault for a write to what must stay.
    at::Tensor forward(const at::Tensor& examples, bool training) const;

    /// Parameters, with gradient, then what is moved: the layout's order.
    std::vector<at::Tensor*> tensors() { return places(0, num_parameters_ + num_moved_); }

    /// Those that are frozen, in the order of their layout.
    std::vector<at::Tensor*> frozen() { return places(num_parameters_ + num_moved_, num_frozen_); }

private:
    std::vector<at::Tensor*> places(std::size_t first, std::size_t count);

    std::vector<at::Tensor> held_;  // those of tensors(), those of frozen(), then the others
    std::size_t num_parameters_ = 0, num_moved_ = 0, num_frozen_ = 0;
    std::vector<std::size_t> order_;  // of the graph's inputs but the last: places in held_
    std::vector<std::int64_t> input_;
    bool takes_tokens_ = false;
    std::unique_ptr<Plan> training_, evaluation_;
};

}  // namespace fedhive::clients::exported
