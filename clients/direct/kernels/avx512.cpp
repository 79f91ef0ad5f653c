// The kernels for AVX-512 (x86-64-v4).
#define FEDHIVE_LANES avx512
#define FEDHIVE_AVX512
#if !defined(__clang__)
// GCC's intrinsics header leaves a register uninitialised on purpose, and GCC warns of it.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include "clients/direct/kernels/kernel_table.h"

namespace fedhive::clients::direct {

// constinit: no initialiser compiled with these instructions may run on a processor without them.
extern constinit const Kernels kernels_avx512;
constinit const Kernels kernels_avx512 = avx512::table("avx512");

}  // namespace fedhive::clients::direct
