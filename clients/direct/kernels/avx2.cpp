// The kernels for AVX2 with FMA (x86-64-v3).
#define FEDHIVE_LANES avx2
#define FEDHIVE_AVX2
#include "clients/direct/kernels/table.h"

namespace fedhive::clients::direct {

// Before any code runs: what makes it must not need the instructions.
extern constinit const Kernels kernels_avx2;
constinit const Kernels kernels_avx2 = avx2::table("avx2");

}  // namespace fedhive::clients::direct
