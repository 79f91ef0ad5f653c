// The kernels for AVX2 with FMA (x86-64-v3).
#define FEDHIVE_LANES avx2
#define FEDHIVE_AVX2
#include "clients/direct/kernels/kernel_table.h"

namespace fedhive::clients::direct {

// constinit: no initialiser compiled with these instructions may run on a processor without them.
extern constinit const Kernels kernels_avx2;
constinit const Kernels kernels_avx2 = avx2::table("avx2");

}  // namespace fedhive::clients::direct
