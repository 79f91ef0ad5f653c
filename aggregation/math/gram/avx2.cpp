// Inner products for AVX2 with FMA (x86-64-v3).
#define FEDHIVE_GRAM_SET avx2
#define FEDHIVE_GRAM_AVX2
#include "aggregation/math/gram/tiles.h"

namespace fedhive::aggregation::gram_kernels {

// constinit: no initialiser compiled with these instructions may run on a processor without them.
extern constinit const Kernels kernels_avx2;
constinit const Kernels kernels_avx2 = {"avx2", avx2::lower, avx2::dot};

}  // namespace fedhive::aggregation::gram_kernels
