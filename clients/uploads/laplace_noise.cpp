// The Laplace mechanism (Dwork et al. 2006, doi:10.1007/11681878_14) at each client, which makes an update locally private.
//
//   u <- u · min(1, C / |u|_1);   sent_i = u_i + z_i,   z_i of density e^(−|z| / b) / 2b with b = 2 C / ε
//
// Any two updates of norm at most C are 2 C apart, so one update is ε-differentially private.
#include "aggregation/math/scalar_functions.h"
#include "aggregation/math/vector_ops.h"
#include "clients/uploads/upload.h"

#include <cmath>
#include <span>
#include <vector>

namespace fedhive::clients {

namespace {

/// Σ |u_i| over all that is sent.
double sum_of_magnitudes(const Upload& upload) {
    aggregation::write_update(upload.scratch, upload.local, upload.global);
    std::vector<float> update(upload.scratch.size);
    aggregation::copy(update, upload.scratch);
    aggregation::synchronize(upload.scratch.space);
    double sum = 0.0;
    for (const aggregation::LayoutEntry& entry : upload.sent.entries())
        for (std::size_t i = entry.offset; i < entry.offset + entry.size; ++i) sum += static_cast<double>(std::fabs(update[i]));
    return sum;
}

void clip_and_add_laplace(Upload& upload, const UploadStep& step) {
    const double most = step.numbers[0], scale = 2.0 * most / step.numbers[1];
    const double norm = sum_of_magnitudes(upload);
    if (norm > most) scale_upload(upload, most / norm);
    add_drawn(upload.local, upload.layout, upload.key, [scale](const Stream& of_block, std::span<float> values) {
        Stream stream = of_block;
        for (float& value : values) {
            const std::uint64_t word = stream.next_u64();
            const double size = -aggregation::element::logarithm(1.0 - static_cast<double>(word >> 11) * 0x1.0p-53);
            value += static_cast<float>((word & 1U) == 0 ? scale * size : -scale * size);
        }
    });
}

}  // namespace

UploadSpec laplace_noise() {
    return {
        .name = "laplace_noise",
        .summary =
            "scales an update down to the L1 norm `l1_norm` and adds Laplace noise to each value, which makes one update "
            "`epsilon`-differentially private towards the server, too (the Laplace mechanism, Dwork et al. 2006)",
        .keys = {{.name = "l1_norm",
                  .default_value = 1.0,
                  .range = above(0),
                  .doc = "Largest sum of the magnitudes of an update's values (C)."},
                 {.name = "epsilon",
                  .default_value = 1.0,
                  .range = above(0),
                  .doc = "ε of one update: each value gets noise of scale 2 · l1_norm / epsilon; over T updates of a client "
                         "the ε add up to T · epsilon. Below about l1_norm · P for P parameters, noise outweighs the update."}},
        .hides = true,
        .apply = clip_and_add_laplace};
}

}  // namespace fedhive::clients
