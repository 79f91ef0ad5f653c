// The kernels for AVX-512 (x86-64-v4).
#define FEDHIVE_LANES avx512
#define FEDHIVE_AVX512
#if !defined(__clang__)
// GCC's own header for these instructions leaves a register unset where it does not matter, and then warns of it.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include "clients/direct/kernels/pointwise.h"
#include "clients/direct/kernels/products.h"

namespace fedhive::clients::direct {

extern const Kernels kernels_avx512;
const Kernels kernels_avx512{.name = "avx512",
                             .rank_update = avx512::rank_update,
                             .dot = avx512::dot,
                             .sparse_update = avx512::sparse_update,
                             .pool_rows = avx512::pool_rows,
                             .list_channel = avx512::list_channel,
                             .list_pixel = avx512::list_pixel,
                             .finish_row = avx512::finish_row,
                             .spread_row = avx512::spread_row,
                             .softmax_loss = avx512::softmax_loss,
                             .relu = avx512::relu,
                             .relu_gradient = avx512::relu_gradient,
                             .tanh = avx512::tanh,
                             .drop = avx512::drop};

}  // namespace fedhive::clients::direct
