// EDEN: S. Vargaftik et al. 2022, arXiv:2108.08842, with the randomized Hadamard transform in place of a uniform rotation.
//
// Differs   applied to a client's update after its local steps; blocks of 4,096 values are rotated, each with its own scale;
//           whole bits alone.
#include "clients/uploads/rotated.h"

namespace fedhive::clients {

UploadSpec eden() {
    return {.name = "eden",
            .summary =
                "rotates blocks of an update at random and rounds each rotated value to the nearest of the 2^bits levels that "
                "are best for normal values (Vargaftik et al. 2022, arXiv:2108.08842)",
            .keys = {{.name = "bits",
                      .default_value = std::int64_t{2},
                      .range = between(1, 4),
                      .doc = "Bits per value (b); 1: as drive."}},
            .apply = [](Upload& upload,
                        const UploadStep& step) { round_rotated(upload, static_cast<std::uint32_t>(step.numbers[0])); },
            .shrink = [](UploadSize& size,
                         const UploadStep& step) { size_of_rotated(size, static_cast<std::uint32_t>(step.numbers[0])); }};
}

}  // namespace fedhive::clients
