// All kernels of one instruction set.
#pragma once

#include "clients/direct/kernels/depthwise.h"
#include "clients/direct/kernels/gemm.h"
#include "clients/direct/kernels/norm.h"
#include "clients/direct/kernels/panels.h"
#include "clients/direct/kernels/pointwise.h"
#include "clients/direct/kernels/pool2x2.h"
#include "clients/direct/kernels/recurrent.h"
#include "clients/direct/kernels/sequence.h"
#include "clients/direct/kernels/winograd.h"

namespace fedhive::clients::direct::FEDHIVE_LANES {

static constexpr Kernels table(std::string_view name) {
    return {.name = name,
            .gemm = gemm,
            .write_panels = write_panels,
            .dot = dot,
            .sparse_update = sparse_update,
            .pool2x2 = pool2x2,
            .convolve_pool2x2 = convolve_pool2x2,
            .sparse_channel_gradient = sparse_channel_gradient,
            .sparse_pixel_gradient = sparse_pixel_gradient,
            .single_channel_gradient = single_channel_gradient,
            .prefers_pixel_lanes = kPrefersPixelLanes,
            .bias_relu = bias_relu,
            .depthwise = depthwise,
            .depthwise_weights = depthwise_weights,
            .winograd_inputs = winograd_inputs,
            .winograd_gradients = winograd_gradients,
            .winograd_outputs = winograd_outputs,
            .winograd_pool2x2 = winograd_pool2x2,
            .winograd_weights = winograd_weights,
            .winograd_weight_gradient = winograd_weight_gradient,
            .bias_relu_backward = bias_relu_backward,
            .channel_sums = channel_sums,
            .norm_rows = norm_rows,
            .norm_sums = norm_sums,
            .norm_back = norm_back,
            .row_norm = row_norm,
            .row_norm_back = row_norm_back,
            .softmax = softmax,
            .softmax_gradient = softmax_gradient,
            .lstm_cell = lstm_cell,
            .lstm_cell_back = lstm_cell_back,
            .gru_cell = gru_cell,
            .gru_cell_back = gru_cell_back,
            .softmax_loss = softmax_loss,
            .add = add_values,
            .relu = relu,
            .relu_gradient = relu_gradient,
            .tanh = tanh,
            .gelu = gelu,
            .gelu_gradient = gelu_gradient,
            .dropout = dropout};
}

}  // namespace fedhive::clients::direct::FEDHIVE_LANES
