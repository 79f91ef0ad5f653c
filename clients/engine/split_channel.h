// The channel through which the halves of a split model (split_step.h) exchange data in every local step,
// over shared memory. Without LibTorch.
#pragma once

#include "aggregation/memory/param_span.h"

#include <cstddef>

namespace fedhive::clients {

/// Two regions, each at least batch_size * Cut::activation_floats floats, 64-byte aligned, in the models' memory space, and
/// messages that one of them is filled. `count` is the number of examples in the batch. Send only when the device has finished
/// writing the region. A receive waits for the other half, and throws if the message cannot come.
///
/// Writes   activations: the client until send_activations(); then the server reads them until send_gradient().
///          gradient: the server until send_gradient(); then the client reads it until the next send_activations().
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
