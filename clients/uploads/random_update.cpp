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
            .summary = "an attack: a share of the clients sends normal noise (Blanchard et al. 2017, arXiv:1703.02757)",
            .keys = {{.name = "share",
                      .default_value = 0.2,
                      .range = between(0, 1),
                      .doc = "Share of all clients that attack, rounded. The attackers are drawn from seeds.sampling and are "
                             "the same in every round."},
                     {.name = "std",
                      .default_value = 1.0,
                      .range = above(0),
                      .doc = "Standard deviation of each value that attackers send."}},
            .apply = send_noise};
}

}  // namespace fedhive::clients
