// The kernels for any processor: what the others are measured against, bit by bit. Slow where fused multiply-adds are no instruction.
#define FEDHIVE_LANES plain
#include "clients/direct/kernels/table.h"

namespace fedhive::clients::direct {

// Before any code runs: what makes it must not need the instructions.
extern constinit const Kernels kernels_plain;
constinit const Kernels kernels_plain = plain::table("plain");

}  // namespace fedhive::clients::direct
