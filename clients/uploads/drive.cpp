// DRIVE: S. Vargaftik et al. 2021, arXiv:2105.08339, Algorithm 1 with its unbiased scale, and the randomized Hadamard transform in place
// of a uniform rotation.
//
// Differs   applied to a client's update after its local steps; blocks of 4,096 values are rotated, each with its own scale.
#include "clients/uploads/rotated.h"

namespace fedhive::clients {

UploadSpec drive() {
    return {
        .name = "drive",
        .summary =
            "rotates blocks of an update at random and sends each rotated value's sign and one scale a block, from which the "
            "server rotates back (Vargaftik et al. 2021, arXiv:2105.08339)",
        .keys = {},
        .apply = [](Upload& upload, const UploadStep&) { round_rotated(upload, 1); },
        .shrink = [](UploadSize& size, const UploadStep&) { size_of_rotated(size, 1); }};
}

}  // namespace fedhive::clients
