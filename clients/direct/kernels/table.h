// All kernels of one instruction set.
#pragma once

#include "clients/direct/kernels/norm.h"
#include "clients/direct/kernels/pointwise.h"
#include "clients/direct/kernels/products.h"
#include "clients/direct/kernels/squares.h"
#include "clients/direct/kernels/tiles.h"

namespace fedhive::clients::direct::FEDHIVE_LANES {

static constexpr Kernels table(std::string_view name) {
    return {.name = name,
            .rank_update = rank_update,
            .dot = dot,
            .sparse_update = sparse_update,
            .pool_rows = pool_rows,
            .convolve_squares = convolve_squares,
            .list_channel = list_channel,
            .list_pixel = list_pixel,
            .grey_sums = grey_sums,
            .by_squares = kBySquares,
            .finish_row = finish_row,
            .tile_inputs = tile_inputs,
            .tile_gradients = tile_gradients,
            .tile_outputs = tile_outputs,
            .tile_pools = tile_pools,
            .tile_weights = tile_weights,
            .tile_weight_gradient = tile_weight_gradient,
            .spread_row = spread_row,
            .channel_sums = channel_sums,
            .norm_rows = norm_rows,
            .norm_sums = norm_sums,
            .norm_back = norm_back,
            .softmax_loss = softmax_loss,
            .add = add_values,
            .relu = relu,
            .relu_gradient = relu_gradient,
            .tanh = tanh,
            .drop = drop};
}

}  // namespace fedhive::clients::direct::FEDHIVE_LANES
