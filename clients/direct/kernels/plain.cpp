// The kernels for any processor: what the others are measured against, bit by bit. Slow where fused multiply-adds are no instruction.
#define FEDHIVE_LANES plain
#include "clients/direct/kernels/pointwise.h"
#include "clients/direct/kernels/products.h"

namespace fedhive::clients::direct {

extern const Kernels kernels_plain;
const Kernels kernels_plain{.name = "plain",
                            .rank_update = plain::rank_update,
                            .dot = plain::dot,
                            .sparse_update = plain::sparse_update,
                            .pool_rows = plain::pool_rows,
                            .list_channel = plain::list_channel,
                            .list_pixel = plain::list_pixel,
                            .finish_row = plain::finish_row,
                            .spread_row = plain::spread_row,
                            .softmax_loss = plain::softmax_loss,
                            .relu = plain::relu,
                            .relu_gradient = plain::relu_gradient,
                            .tanh = plain::tanh,
                            .drop = plain::drop};

}  // namespace fedhive::clients::direct
