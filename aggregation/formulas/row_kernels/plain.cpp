// Loops of examples' formulas for any processor.
#define FEDHIVE_FORMULA_SET plain
#include "aggregation/formulas/row_kernels/row_loops.h"

namespace fedhive::aggregation::formulas {

// constinit: no initialiser compiled with these instructions may run on a processor without them.
extern constinit const RowLoops row_loops_plain;
constinit const RowLoops row_loops_plain = plain::row_loops_named("plain");

}  // namespace fedhive::aggregation::formulas
