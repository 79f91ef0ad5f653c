// The kernels for any processor, and the reference for the bits of the others. Slow on processors without an FMA instruction.
#define FEDHIVE_LANES plain
#include "clients/direct/kernels/kernel_table.h"

namespace fedhive::clients::direct {

// constinit: no initialiser compiled with these instructions may run on a processor without them.
extern constinit const Kernels kernels_plain;
constinit const Kernels kernels_plain = plain::table("plain");

}  // namespace fedhive::clients::direct
