// Loops of formulas for any processor.
#define FEDHIVE_FORMULA_SET plain
#include "aggregation/formulas/kernels/vector_loops.h"

namespace fedhive::aggregation::formulas {

// constinit: no initialiser compiled with these instructions may run on a processor without them.
extern constinit const Loops loops_plain;
constinit const Loops loops_plain = plain::loops_named("plain");

}  // namespace fedhive::aggregation::formulas
