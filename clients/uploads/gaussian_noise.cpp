#include "clients/uploads/upload.h"

#include <cmath>

namespace fedhive::clients {

namespace {

void add_share_of_noise(Upload& upload, const UploadStep& step) {
    add_noise(upload, step.numbers[0] * upload.norm_bound / std::sqrt(static_cast<double>(upload.plan.num_together)));
}

}  // namespace

UploadSpec gaussian_noise() {
    return {
        .name = "gaussian_noise",
        .summary =
            "normal noise, each client its share: the sum of a server step's updates has noise of `multiplier` times the "
            "clip's norm (the Gaussian mechanism of arXiv:1710.06963, distributed over clients)",
        .keys = {{.name = "multiplier",
                  .default_value = 1.0,
                  .range = above(0),
                  .doc =
                      "Noise of the sum, as a multiple of the norm of the clip before it: with m updates to a server step each "
                      "gets a standard deviation of multiplier · norm / √m. Clients that fail take their share along (z)."}},
        .needs_bound = true,
        .weighs_alike = true,
        .apply = add_share_of_noise};
}

}  // namespace fedhive::clients
