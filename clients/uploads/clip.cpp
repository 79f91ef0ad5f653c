#include "aggregation/math/vector_ops.h"
#include "clients/uploads/upload.h"

namespace fedhive::clients {

namespace {

/// update *= norm / |update| if |update| > norm. A NaN norm compares false; acceptance rejects such an update later.
void clip_update(Upload& upload, const UploadStep& step) {
    const double most = step.numbers[0];
    const double norm = aggregation::write_update(upload.scratch, upload.local, upload.global).norm;
    if (norm > most) scale_upload(upload, most / norm);
}

}  // namespace

UploadSpec clip() {
    return {.name = "clip",
            .summary = "scales an update that is longer than `norm` down to it (McMahan et al. 2018, arXiv:1710.06963)",
            .keys = {{.name = "norm",
                      .default_value = 1.0,
                      .range = above(0),
                      .doc = "Largest Euclidean norm of an update after this step, up to f32 rounding (S); often the median of "
                             "update_norm in clients.csv."}},
            .bounds = true,
            .apply = clip_update};
}

}  // namespace fedhive::clients
