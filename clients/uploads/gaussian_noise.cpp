#include "clients/uploads/upload.h"

#include <cmath>

namespace fedhive::clients {

namespace {

void add_share_of_noise(Upload& upload, const UploadStep& step) {
    const double of_sum = step.numbers[0] * upload.norm_bound;
    add_noise(upload.local, upload.layout, upload.key, of_sum / std::sqrt(static_cast<double>(upload.num_together)));
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
                      "gets a standard deviation of multiplier · norm / √m, and the server adds what failed clients or "
                      "staleness take off (z)."}},
        .noise_of_sum = true,
        .apply = add_share_of_noise};
}

}  // namespace fedhive::clients
