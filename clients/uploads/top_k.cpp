// A. F. Aji and K. Heafield 2017, arXiv:1704.05021: one threshold for the whole vector.
//
// Differs   of a client's update after its local steps, not of a gradient; the threshold is exact; what is left out is kept where error_feedback
//           stands before, and lost otherwise.
#include "clients/uploads/compressed.h"

#include <bit>
#include <cmath>

namespace fedhive::clients {

namespace {

/// The bits of a magnitude are in its order; a NaN is the largest, so it is sent, and found where the update is accepted.
void keep_large_ones(Upload& upload, const UploadStep& step) {
    ParametersOfUpload parameters(upload);
    std::vector<std::uint32_t> magnitudes;
    magnitudes.reserve(parameters.count());
    for (const TensorUpload& tensor : parameters.tensors())
        for (std::size_t i = 0; i < tensor.local.size(); ++i)
            magnitudes.push_back(std::bit_cast<std::uint32_t>(std::fabs(tensor.update(i))));
    keep_largest(parameters, magnitudes, count_of_share(step.numbers[0], parameters.count()));
    parameters.put_back();
}

}  // namespace

UploadSpec top_k() {
    return {.name = "top_k",
            .summary = "of an update only the largest values, the others are 0 (Aji and Heafield 2017, arXiv:1704.05021)",
            .keys = {key_of_kept_share()},
            .leaves_out = true,
            .apply = keep_large_ones,
            .shrink = [](UploadSize& size, const UploadStep& step) {
                leave_out(size, count_of_share(step.numbers[0], size.parameters));
            }};
}

}  // namespace fedhive::clients
