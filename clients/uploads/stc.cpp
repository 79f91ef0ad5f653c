// Sparse ternary compression: F. Sattler, S. Wiedemann, K.-R. Müller, W. Samek 2019, arXiv:1903.02891, Algorithm 1.
//
//   the k largest |u_i| become sign(u_i) · μ, the others 0;   μ = mean of these |u_i|
//
// Differs   its residual is a step error_feedback before. Both ways, as in the paper: in `upload` and in `download`.
#include "clients/uploads/compressed.h"

#include <algorithm>
#include <cmath>

namespace fedhive::clients {

namespace {

/// A value that is not finite is among the largest, and makes μ not finite.
void keep_large_signs(Upload& upload, const UploadStep& step) {
    ParametersOfUpload parameters(upload);
    keep_largest_magnitudes(parameters, count_of_share(step.numbers[0], parameters.count()));
    double sum = 0.0, count = 0.0;
    for (const TensorUpload& tensor : parameters.tensors())
        for (std::size_t i = 0; i < tensor.local.size(); ++i) {
            sum += static_cast<double>(std::fabs(tensor.update(i)));
            count += tensor.update(i) != 0.0F ? 1.0 : 0.0;
        }
    for (const TensorUpload& tensor : parameters.tensors())
        for (std::size_t i = 0; i < tensor.local.size(); ++i)
            if (tensor.update(i) != 0.0F) tensor.set_update(i, tensor.update(i) < 0.0F ? -sum / count : sum / count);
    parameters.put_back();
}

/// Bytes of the places of `count` of `all` values, as distances in Golomb code with a power of two (Rice): a distance d takes
/// b + 1 + floor(d / 2^b) bits, and all distances together at most `all`. The least bound over b.
std::uint64_t bytes_of_places(std::uint64_t count, std::uint64_t all) {
    std::uint64_t least = count + all;
    for (std::uint64_t b = 1; b < 32; ++b) least = std::min(least, count * (b + 1) + (all >> b));
    return (least + 7) / 8;
}

}  // namespace

UploadSpec stc() {
    return {.name = "stc",
            .summary =
                "replaces the largest values of an update by their signs times the mean of their magnitudes, and sets the "
                "others to 0; best after error_feedback (sparse ternary compression, Sattler et al. 2019, arXiv:1903.02891)",
            .keys = {key_of_kept_share()},
            .leaves_out = true,
            .rounds = true,
            .apply = keep_large_signs,
            .shrink = [](UploadSize& size, const UploadStep& step) {
                const std::uint64_t count = count_of_share(step.numbers[0], size.parameters);
                size.other_bytes += sizeof(float) + bytes_of_places(count, size.parameters);  // μ
                size.parameters = count;
                size.bits_each = 1;
            }};
}

}  // namespace fedhive::clients
