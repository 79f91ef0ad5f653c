// TernGrad: W. Wen et al. 2017, arXiv:1705.07878, with its gradient clipping.
//
//   |u_i| <- min(|u_i|, c σ);   s = max |u_i|;   sent_i = s · sign(u_i) · b_i,   P(b_i = 1) = |u_i| / s
//
// Differs   applied to a client's update after its local steps, not to a gradient; σ is about 0, which the paper assumes as the
//           mean; each tensor has its own s, as in the paper's layer-wise form, and no s is shared among clients.
#include "clients/uploads/compressed.h"

#include <algorithm>
#include <cmath>

namespace fedhive::clients {

namespace {

/// Over the values that no earlier step left out. A tensor with a value that is not finite stays as it is.
void keep_three_levels(Upload& upload, const UploadStep& step) {
    ParametersOfUpload parameters(upload);
    for (const TensorUpload& tensor : parameters.tensors()) {
        double largest = 0.0, squares = 0.0, count = 0.0;
        for (std::size_t i = 0; i < tensor.local.size(); ++i) {
            const auto value = static_cast<double>(tensor.update(i));
            largest = std::max(largest, std::fabs(value));
            squares += value * value;
            count += !upload.has_left_out || value != 0.0 ? 1.0 : 0.0;
        }
        if (largest == 0.0 || !std::isfinite(squares)) continue;
        if (step.numbers[0] > 0.0) largest = std::min(largest, step.numbers[0] * std::sqrt(squares / count));
        Stream draws(upload.key, Purpose::Upload, 0, tensor.place);
        round_to_levels(tensor, largest, 1.0, draws);
    }
    parameters.put_back();
}

}  // namespace

UploadSpec terngrad() {
    return {.name = "terngrad",
            .summary =
                "replaces each value by −s, 0 or s, drawn so that its expectation is the clipped value; s is the largest "
                "magnitude of its tensor (Wen et al. 2017, arXiv:1705.07878)",
            .keys = {{.name = "deviations",
                      .default_value = 2.5,
                      .range = at_least(0),
                      .doc = "Values beyond this many root mean squares of their tensor are clipped to it first (c), typically "
                             "2.5; 0: none are, and the expectation is the update, at more variance."}},
            .apply = keep_three_levels,
            .shrink = [](UploadSize& size, const UploadStep&) {
                size.bits_each = 2;
                size.other_bytes += size.tensors * sizeof(float);  // s
            }};
}

}  // namespace fedhive::clients
