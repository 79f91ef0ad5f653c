// IEEE 754 binary16: 11 significant bits, magnitudes of at most 65,504.
#include "clients/uploads/compressed.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fedhive::clients {

namespace {

/// The nearest half-precision number, of two equally near ones the even one. Infinite from 65,520 on; a NaN stays.
double nearest_half(double value) {
    const double magnitude = std::fabs(value);
    if (magnitude >= 65520.0) return std::copysign(std::numeric_limits<double>::infinity(), value);
    if (!(magnitude > 0.0)) return value;
    const double spacing = std::ldexp(1.0, std::max(std::ilogb(magnitude), -14) - 10);
    return std::nearbyint(value / spacing) * spacing;
}

void round_to_half(Upload& upload, const UploadStep&) {
    ParametersOfUpload parameters(upload);
    for (const TensorUpload& tensor : parameters.tensors())
        for (std::size_t i = 0; i < tensor.local.size(); ++i)
            tensor.set_update(i, nearest_half(static_cast<double>(tensor.update(i))));
    parameters.put_back();
}

}  // namespace

UploadSpec fp16() {
    return {.name = "fp16",
            .summary =
                "rounds each value to the nearest half-precision number (IEEE 754 binary16); one of 65,520 or more becomes "
                "infinite, and the server refuses the update",
            .keys = {},
            .apply = round_to_half,
            .shrink = [](UploadSize& size, const UploadStep&) { size.bits_each = 16; }};
}

}  // namespace fedhive::clients
