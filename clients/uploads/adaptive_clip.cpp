// Clipping to a norm that follows a quantile of the updates' norms: G. Andrew, O. Thakkar, H. B. McMahan, S. Ramaswamy 2021,
// "Differentially Private Learning with Adaptive Clipping", arXiv:1905.03871, Algorithm 1. Here is the client's part, which gets
// the norm with its task; the server's is sim/round/clip_norm.h.
#include "aggregation/math/vector_ops.h"
#include "clients/uploads/upload.h"

namespace fedhive::clients {

namespace {

/// update *= C / |update| if |update| > C. A NaN norm is not within C and scales nothing; acceptance rejects such an update later.
void clip_to_norm_of_round(Upload& upload, const UploadStep&) {
    const double norm = aggregation::write_update(upload.scratch, upload.local, upload.global).norm;
    upload.within_clip = norm <= upload.clip_norm;
    if (norm > upload.clip_norm) scale_upload(upload, upload.clip_norm / norm);
}

}  // namespace

UploadSpec adaptive_clip() {
    return {
        .name = "adaptive_clip",
        .summary =
            "clips to a norm that follows a quantile of the updates' norms: each server step multiplies it by "
            "exp(−clip_lr · (b − target_quantile)), b the noised share of updates within it; columns clip_norm of "
            "rounds.csv and within_clip of clients.csv (Andrew et al. 2021, arXiv:1905.03871)",
        .keys =
            {{.name = "norm", .default_value = 0.1, .range = above(0), .doc = "Norm of the first round (C⁰), typically 0.1."},
             {.name = "target_quantile",
              .default_value = 0.5,
              .range = between(0, 1),
              .doc = "Share of updates that the norm is to leave as they are (γ); 0.5: it follows the median."},
             {.name = "clip_lr",
              .default_value = 0.2,
              .range = above(0),
              .doc = "Rate at which the norm moves (η_C), typically 0.2; far above 1 it swings."},
             {.name = "count_noise",
              .default_value = std::optional<double>(),
              .range = at_least(0),
              .empty_word = "auto",
              .default_note = "`0`",
              .doc = "Standard deviation of the noise in the number of updates within the norm (σ_b). auto, or left out: "
                     "with gaussian_noise cohort / 20, but at least its multiplier; else 0. With gaussian_noise it is "
                     "above half the multiplier, and the updates get more noise than multiplier · norm, so that both "
                     "together cost as much privacy as the multiplier says."}},
        .bounds = true,
        .adapts = true,
        .apply = clip_to_norm_of_round};
}

}  // namespace fedhive::clients
