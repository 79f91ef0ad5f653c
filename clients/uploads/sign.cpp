// signSGD: J. Bernstein et al. 2018, arXiv:1802.04434; with the scale of S. P. Karimireddy et al. 2019, arXiv:1901.09847.
//
// Differs   applied to a client's update after its local steps, not to a gradient; the server takes the mean, not the majority;
//           one scale for each tensor.
#include "clients/uploads/compressed.h"

#include <cmath>

namespace fedhive::clients {

namespace {

/// update[i] <- ±mean |update| of its tensor. A bit has no third value: 0 is sent as +, unless an earlier step left the value
/// out. A value that is not finite makes the scale not finite.
void keep_signs(Upload& upload, const UploadStep&) {
    ParametersOfUpload parameters(upload);
    for (const TensorUpload& tensor : parameters.tensors()) {
        double sum = 0.0, count = 0.0;
        for (std::size_t i = 0; i < tensor.local.size(); ++i) {
            sum += static_cast<double>(std::fabs(tensor.update(i)));
            count += !upload.has_left_out || tensor.update(i) != 0.0F ? 1.0 : 0.0;
        }
        if (count == 0.0) continue;
        for (std::size_t i = 0; i < tensor.local.size(); ++i) {
            const float value = tensor.update(i);
            if (!upload.has_left_out || value != 0.0F) tensor.set_update(i, value < 0.0F ? -sum / count : sum / count);
        }
    }
    parameters.put_back();
}

}  // namespace

UploadSpec sign() {
    return {.name = "sign",
            .summary =
                "replaces each value by its sign times the mean magnitude of its tensor (Bernstein et al. 2018, "
                "arXiv:1802.04434; the scale of Karimireddy et al. 2019, arXiv:1901.09847)",
            .keys = {},
            .apply = keep_signs,
            .shrink = [](UploadSize& size, const UploadStep&) {
                size.bits_each = 1;
                size.other_bytes += size.tensors * sizeof(float);  // the scales
            }};
}

}  // namespace fedhive::clients
