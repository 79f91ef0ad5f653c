// QSGD: D. Alistarh et al. 2017, arXiv:1610.02132, section 3.
//
// Differs   levels are fractions of a tensor's largest magnitude, not of a vector's norm; all values take the same number of
//           bits, without an entropy code.
#include "clients/uploads/compressed.h"

#include <algorithm>
#include <cmath>

namespace fedhive::clients {

namespace {

/// A tensor with an infinite value stays as it is; the server finds that when it accepts the update.
void round_by_largest(Upload& upload, const UploadStep& step) {
    const double levels = std::exp2(step.numbers[0] - 1) - 1;  // one bit is the sign
    ParametersOfUpload parameters(upload);
    for (const TensorUpload& tensor : parameters.tensors()) {
        double largest = 0.0;
        for (std::size_t i = 0; i < tensor.local.size(); ++i)
            largest = std::max(largest, static_cast<double>(std::fabs(tensor.update(i))));
        if (largest == 0.0 || !std::isfinite(largest)) continue;
        Stream draws(upload.key, Purpose::Upload, 0, tensor.place);
        round_to_levels(tensor, largest, levels, draws);
    }
    parameters.put_back();
}

}  // namespace

UploadSpec quantize() {
    return {
        .name = "quantize",
        .summary =
            "rounds each value to a level between 0 and the largest magnitude of its tensor, up or down at random, so that its "
            "expectation is unchanged (QSGD, Alistarh et al. 2017, arXiv:1610.02132)",
        .keys =
            {{.name = "bits",
              .default_value = std::int64_t{8},
              .range = between(2, 16),
              .doc = "Bits per value, including its sign: 2^(bits−1) − 1 levels above 0; typically 4 or 8 (log₂(s + 1) + 1)."}},
        .apply = round_by_largest,
        .shrink = [](UploadSize& size, const UploadStep& step) {
            size.bits_each = static_cast<std::uint64_t>(step.numbers[0]);
            size.other_bytes += size.tensors * sizeof(float);  // the largest magnitude of each tensor
        }};
}

}  // namespace fedhive::clients
