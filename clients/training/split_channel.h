// What the halves of a split model (split_step.h) pass each other in every local step, over memory that both see. Without LibTorch.
#pragma once

#include "aggregation/memory/param_span.h"

#include <cstddef>

namespace fedhive::clients {

/// Two regions, each at least batch_size * Cut::activation_floats floats, 64-byte aligned, in the models' memory space; and the word that one
/// of them is filled. `count` is the number of examples in the batch; a send follows when the device is done with the region. A receive
/// waits for the other half, and throws when that will not come.
///
/// Writes   activations: the client, until it sends them; from then on the server reads them, until it sends the gradient.
///          gradient: the server, until it sends it; from then on the client reads it, until it sends the next activations.
class SplitChannel {
public:
    SplitChannel() = default;
    SplitChannel(const SplitChannel&) = delete;
    SplitChannel& operator=(const SplitChannel&) = delete;
    virtual ~SplitChannel() = default;

    virtual aggregation::ParamSpan activations() = 0;
    virtual aggregation::ParamSpan gradient() = 0;
    virtual void send_activations(std::size_t count) = 0;
    virtual std::size_t receive_activations() = 0;
    virtual void send_gradient(std::size_t count) = 0;
    virtual std::size_t receive_gradient() = 0;
};

}  // namespace fedhive::clients
