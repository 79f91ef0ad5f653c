#include "clients/uploads/upload.h"

namespace fedhive::clients {

namespace {

void flip(Upload& upload, const UploadStep& step) {
    if (misbehaves(upload, step.numbers[0])) scale_upload(upload, -step.numbers[1]);
}

}  // namespace

UploadSpec sign_flip() {
    return {
        .name = "sign_flip",
        .summary = "an attack: a share of the clients sends −`factor` times their update (Li et al. 2019, arXiv:1811.03761)",
        .keys = {{.name = "share",
                  .default_value = 0.2,
                  .range = between(0, 1),
                  .doc = "Share of all clients that attack, rounded. The attackers are drawn from seeds.sampling and are the "
                         "same in every round."},
                 {.name = "factor",
                  .default_value = 1.0,
                  .range = above(0),
                  .doc = "Factor by which the reversed update is scaled."}},
        .apply = flip};
}

}  // namespace fedhive::clients
