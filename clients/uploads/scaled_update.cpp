#include "clients/uploads/upload.h"

namespace fedhive::clients {

namespace {

void send_scaled(Upload& upload, const UploadStep& step) {
    if (misbehaves(upload, step.numbers[0])) scale_upload(upload, step.numbers[1]);
}

}  // namespace

UploadSpec scaled_update() {
    return {.name = "scaled_update",
            .summary =
                "an attack: a share of the clients sends `factor` times their update (the scaling of model replacement, "
                "Bagdasaryan et al. 2018, arXiv:1807.00459)",
            .keys = {{.name = "share",
                      .default_value = 0.2,
                      .range = between(0, 1),
                      .doc = "Share of all clients that attack, rounded. The attackers are drawn from seeds.sampling and are "
                             "the same in every round."},
                     {.name = "factor",
                      .default_value = 10.0,
                      .range = above(0),
                      .doc = "Factor by which the update is scaled (γ). With n updates of equal weight, n lets one attacker "
                             "replace what a plain mean would give."}},
            .apply = send_scaled};
}

}  // namespace fedhive::clients
