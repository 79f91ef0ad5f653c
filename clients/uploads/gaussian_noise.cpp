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
    return {.name = "gaussian_noise",
            .summary =
                "each client adds its share of normal noise; the sum of the updates of a server step then has noise with a "
                "standard deviation of `multiplier` times the norm of clip (the Gaussian mechanism of arXiv:1710.06963, "
                "distributed over clients)",
            .keys = {{.name = "multiplier",
                      .default_value = std::optional<double>(),
                      .range = above(0),
                      .empty_word = "auto",
                      .default_note = "`1`",
                      .doc = "Standard deviation of the noise in the sum, as a multiple of the norm of the clip step before it "
                             "(z). auto, or left out: 1; with privacy.epsilon the smallest value that keeps that ε. With m "
                             "updates per server step, each gets noise with standard deviation multiplier · norm / "
                             "√m; the server adds the noise that is missing because of failed clients or staleness."}},
            .noise_of_sum = true,
            .apply = add_share_of_noise};
}

}  // namespace fedhive::clients
