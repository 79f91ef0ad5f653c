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
        .summary = "an attack: a share of the clients send −`factor` times their update (Li et al. 2019, arXiv:1811.03761)",
        .keys = {{.name = "share",
                  .default_value = 0.2,
                  .range = between(0, 1),
                  .doc = "Of all clients, rounded: those who attack, the same in every round, drawn from seeds.sampling."},
                 {.name = "factor", .default_value = 1.0, .range = above(0), .doc = "How many times as far the wrong way."}},
        .apply = flip};
}

}  // namespace fedhive::clients
