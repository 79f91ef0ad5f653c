#include "clients/uploads/upload.h"

#include "aggregation/math/vector_ops.h"

namespace fedhive::clients {

namespace {

void send_noise(Upload& upload, const UploadStep& step) {
    if (!misbehaves(upload, step.numbers[0])) return;
    aggregation::copy(upload.local, upload.global);
    add_noise(upload.local, upload.layout, upload.key, step.numbers[1]);
}

}  // namespace

UploadSpec random_update() {
    return {.name = "random_update",
            .summary = "an attack: a share of the clients send normal noise (Blanchard et al. 2017, arXiv:1703.02757)",
            .keys = {{.name = "share",
                      .default_value = 0.2,
                      .range = between(0, 1),
                      .doc = "Of all clients, rounded: those who attack, the same in every round, drawn from seeds.sampling."},
                     {.name = "std",
                      .default_value = 1.0,
                      .range = above(0),
                      .doc = "Standard deviation of each value they send."}},
            .apply = send_noise};
}

}  // namespace fedhive::clients
