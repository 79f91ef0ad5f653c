// A. F. Aji and K. Heafield 2017, arXiv:1704.05021: one threshold for the whole vector.
//
// Differs   applied to a client's update after its local steps, not to a gradient; the threshold is exact; the remaining values
//           are kept after a step error_feedback, and lost without one.
#include "clients/uploads/compressed.h"

namespace fedhive::clients {

namespace {

void keep_large_ones(Upload& upload, const UploadStep& step) {
    ParametersOfUpload parameters(upload);
    keep_largest_magnitudes(parameters, count_of_share(step.numbers[0], parameters.count()));
    parameters.put_back();
}

}  // namespace

UploadSpec top_k() {
    return {.name = "top_k",
            .summary =
                "keeps only the largest values of an update and sets the others to 0 (Aji and Heafield 2017, arXiv:1704.05021)",
            .keys = {key_of_kept_share()},
            .leaves_out = true,
            .apply = keep_large_ones,
            .shrink = [](UploadSize& size, const UploadStep& step) {
                leave_out(size, count_of_share(step.numbers[0], size.parameters));
            }};
}

}  // namespace fedhive::clients
