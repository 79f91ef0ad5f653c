// Inner products for any processor.
#define FEDHIVE_GRAM_SET plain
#include "aggregation/math/gram/tiles.h"

namespace fedhive::aggregation::gram_kernels {

// constinit: no initialiser compiled with these instructions may run on a processor without them.
extern constinit const Kernels kernels_plain;
constinit const Kernels kernels_plain = {"plain", plain::lower, plain::dot};

}  // namespace fedhive::aggregation::gram_kernels
