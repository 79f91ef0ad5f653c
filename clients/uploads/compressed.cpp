#include "clients/uploads/compressed.h"

#include "aggregation/base/error.h"
#include "aggregation/math/vector_ops.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace fedhive::clients {

ParametersOfUpload::ParametersOfUpload(Upload& upload) : upload_(upload) {
    std::span<float> local;
    std::span<const float> global;
    if (upload.local.space == aggregation::MemorySpace::Host) {
        local = upload.local.host();
        global = upload.global.host();
    } else {
        local_.resize(upload.local.size);
        global_.resize(upload.global.size);
        aggregation::copy(local_, upload.local);
        aggregation::copy(global_, upload.global);
        local = local_;
        global = global_;
    }
    for (const aggregation::LayoutEntry& entry : upload.sent.entries()) {
        if (entry.kind != aggregation::TensorKind::Parameter) continue;
        tensors_.push_back({local.subspan(entry.offset, entry.size), global.subspan(entry.offset, entry.size),
                            static_cast<std::uint32_t>(tensors_.size())});
        count_ += entry.size;
    }
}

void ParametersOfUpload::put_back() {
    if (upload_.local.space == aggregation::MemorySpace::Host) return;
    aggregation::copy(upload_.local, local_);
    aggregation::synchronize(upload_.local.space);  // before local_ is destroyed
}

KeySpec key_of_kept_share() {
    return {
        .name = "kept",
        .default_value = 0.01,
        .range = fraction(),
        .doc = "Share of the parameters whose values are sent, rounded, at least one parameter; typically 0.001–0.1 (k / P)."};
}

std::uint64_t count_of_share(double share, std::uint64_t parameters) {
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(share * static_cast<double>(parameters))));
}

void keep_largest(ParametersOfUpload& upload, std::span<const std::uint32_t> keys, std::uint64_t count) {
    FEDHIVE_CHECK(keys.size() == upload.count() && count >= 1, "{} of {} keys of {} parameters", count, keys.size(),
                  upload.count());
    if (count >= keys.size()) return;
    std::vector<std::uint32_t> sorted(keys.begin(), keys.end());
    const auto last = sorted.begin() + static_cast<std::ptrdiff_t>(count - 1);
    std::nth_element(sorted.begin(), last, sorted.end(), std::greater<>());
    const std::uint32_t least = *last;
    std::uint64_t of_least =
        count - static_cast<std::uint64_t>(std::count_if(sorted.begin(), last, [&](std::uint32_t key) { return key > least; }));
    auto key = keys.begin();
    for (const TensorUpload& tensor : upload.tensors())
        for (std::size_t i = 0; i < tensor.local.size(); ++i, ++key) {
            const bool is_kept = *key > least || (*key == least && of_least > 0);
            if (*key == least && of_least > 0) --of_least;
            if (!is_kept) tensor.local[i] = tensor.global[i];
        }
}

void keep_largest_magnitudes(ParametersOfUpload& upload, std::uint64_t count) {
    std::vector<std::uint32_t> magnitudes;
    magnitudes.reserve(upload.count());
    for (const TensorUpload& tensor : upload.tensors())
        for (std::size_t i = 0; i < tensor.local.size(); ++i)
            magnitudes.push_back(std::bit_cast<std::uint32_t>(std::fabs(tensor.update(i))));
    keep_largest(upload, magnitudes, count);
}

void round_to_levels(const TensorUpload& tensor, double largest, double levels, Stream& draws) {
    for (std::size_t i = 0; i < tensor.local.size(); ++i) {
        const double value = tensor.update(i), place = std::min(std::fabs(value) / largest, 1.0) * levels;
        const double level = std::floor(place) + (draws() * 0x1.0p-32 < place - std::floor(place) ? 1.0 : 0.0);
        if (std::isfinite(value)) tensor.set_update(i, std::copysign(level / levels * largest, value));
    }
}

void leave_out(UploadSize& size, std::uint64_t count) {
    if (count >= size.parameters) return;
    size.other_bytes += std::min(count * sizeof(std::uint32_t), (size.parameters + 7) / 8);
    size.parameters = count;
}

}  // namespace fedhive::clients
