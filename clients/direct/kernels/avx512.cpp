// The kernels for AVX-512 (x86-64-v4).
#define FEDHIVE_LANES avx512
#define FEDHIVE_AVX512
#if !defined(__clang__)
// GCC's own header for these instructions leaves a register unset where it does not matter, and then warns of it.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include "clients/direct/kernels/table.h"

namespace fedhive::clients::direct {

// Before any code runs: what makes it must not need the instructions.
extern constinit const Kernels kernels_avx512;
constinit const Kernels kernels_avx512 = avx512::table("avx512");

}  // namespace fedhive::clients::direct
