// The kernels for AVX2 with FMA (x86-64-v3).
#define FEDHIVE_LANES avx2
#define FEDHIVE_AVX2
#include "clients/direct/kernels/pointwise.h"
#include "clients/direct/kernels/products.h"

namespace fedhive::clients::direct {

extern const Kernels kernels_avx2;
const Kernels kernels_avx2{.name = "avx2",
                           .rank_update = avx2::rank_update,
                           .dot = avx2::dot,
                           .sparse_update = avx2::sparse_update,
                           .pool_rows = avx2::pool_rows,
                           .list_channel = avx2::list_channel,
                           .list_pixel = avx2::list_pixel,
                           .finish_row = avx2::finish_row,
                           .spread_row = avx2::spread_row,
                           .softmax_loss = avx2::softmax_loss,
                           .relu = avx2::relu,
                           .relu_gradient = avx2::relu_gradient,
                           .tanh = avx2::tanh,
                           .drop = avx2::drop};

}  // namespace fedhive::clients::direct
