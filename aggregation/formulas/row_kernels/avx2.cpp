// Loops of examples' formulas for AVX2 (x86-64-v3).
#define FEDHIVE_FORMULA_SET avx2
#include "aggregation/formulas/row_kernels/row_loops.h"

namespace fedhive::aggregation::formulas {

// constinit: no initialiser compiled with these instructions may run on a processor without them.
extern constinit const RowLoops row_loops_avx2;
constinit const RowLoops row_loops_avx2 = avx2::row_loops_named("avx2");

}  // namespace fedhive::aggregation::formulas
