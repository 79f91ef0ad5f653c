// Inner products for AVX-512 (x86-64-v4).
#define FEDHIVE_GRAM_SET avx512
#define FEDHIVE_GRAM_AVX512
#include "aggregation/math/gram/tiles.h"

namespace fedhive::aggregation::gram_kernels {

// constinit: no initialiser compiled with these instructions may run on a processor without them.
extern constinit const Kernels kernels_avx512;
constinit const Kernels kernels_avx512 = {"avx512", avx512::lower, avx512::dot};

}  // namespace fedhive::aggregation::gram_kernels
