// Loops of examples' formulas for AVX-512 (x86-64-v4).
#define FEDHIVE_FORMULA_SET avx512
#include "aggregation/formulas/row_kernels/row_loops.h"

namespace fedhive::aggregation::formulas {

// constinit: no initialiser compiled with these instructions may run on a processor without them.
extern constinit const RowLoops row_loops_avx512;
constinit const RowLoops row_loops_avx512 = avx512::row_loops_named("avx512");

}  // namespace fedhive::aggregation::formulas
