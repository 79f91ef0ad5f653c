#include "clients/uploads/rotated.h"

#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "clients/uploads/compressed.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>
#include <vector>

namespace fedhive::clients {

namespace {

/// The positive centroids of standard normal values; Lloyd 1982, Max 1960.
const std::vector<double>& normal_centroids(std::uint32_t bits) {
    static const std::array<std::vector<double>, 4> of_bits{
        {{0.7978845608},
         {0.4527800346, 1.5104176085},
         {0.2450941789, 0.7560052812, 1.3439092785, 2.1519457045},
         {0.1283950299, 0.3880482995, 0.6567591185, 0.9423404565, 1.2562311973, 1.6180463860, 2.0690172265, 2.7325895710}}};
    return of_bits.at(bits - 1);
}

/// The centroid nearest to a value, with its sign; 0 counts as +.
double nearest_centroid(double value, std::span<const double> centroids) {
    const double magnitude = std::fabs(value);
    std::size_t level = 0;
    while (level + 1 < centroids.size() && magnitude > (centroids[level] + centroids[level + 1]) / 2) ++level;
    return value < 0.0 ? -centroids[level] : centroids[level];
}

/// x <- H x / √d, d a power of two.
void hadamard(std::span<double> x) {
    for (std::size_t half = 1; half < x.size(); half *= 2)
        for (std::size_t first = 0; first < x.size(); first += 2 * half)
            for (std::size_t i = first; i < first + half; ++i) {
                const double a = x[i], b = x[i + half];
                x[i] = a + b;
                x[i + half] = a - b;
            }
    const double scale = 1.0 / std::sqrt(static_cast<double>(x.size()));
    for (double& value : x) value *= scale;
}

void draw_signs(std::span<double> x, Stream draws) {
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (i % 32 == 0) word = draws();
        if ((word >> (i % 32) & 1U) != 0) x[i] = -x[i];
    }
}

double dot_of(std::span<const double> a, std::span<const double> b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}

/// The values of a block, and where they came from.
class Block {
public:
    void add(const TensorUpload& tensor, std::size_t i) {
        values_[count_] = static_cast<double>(tensor.update(i));
        from_[count_] = {&tensor, i};
        ++count_;
    }
    bool full() const { return count_ == kRotatedTogether; }

    void round(std::uint64_t key, std::uint32_t number, std::span<const double> centroids, bool is_closest) {
        const std::size_t size = std::bit_ceil(count_);
        const std::span<double> x = std::span(values_).first(size), c = std::span(rounded_).first(size);
        std::fill(x.begin() + static_cast<std::ptrdiff_t>(count_), x.end(), 0.0);
        const double squares = dot_of(x, x);
        if (squares > 0.0 && std::isfinite(squares)) {
            const Stream signs(key, Purpose::Upload, number);
            draw_signs(x, signs);
            hadamard(x);
            const double longer = std::sqrt(static_cast<double>(size) / squares);
            for (std::size_t i = 0; i < size; ++i) c[i] = nearest_centroid(x[i] * longer, centroids);
            const double scale = is_closest ? dot_of(x, c) / dot_of(c, c) : squares / dot_of(x, c);
            for (double& value : c) value *= scale;
            hadamard(c);
            draw_signs(c, signs);
            for (std::size_t i = 0; i < count_; ++i) from_[i].tensor->set_update(from_[i].place, c[i]);
        }
        count_ = 0;
    }
    bool empty() const { return count_ == 0; }

private:
    struct From {
        const TensorUpload* tensor = nullptr;
        std::size_t place = 0;
    };
    std::array<double, kRotatedTogether> values_{}, rounded_{};
    std::array<From, kRotatedTogether> from_{};
    std::size_t count_ = 0;
};

}  // namespace

void round_rotated(Upload& upload, std::uint32_t bits) {
    FEDHIVE_CHECK(bits >= 1 && bits <= 4, "{} bits", bits);
    const std::vector<double>& centroids = normal_centroids(bits);
    ParametersOfUpload parameters(upload);
    Block block;
    std::uint32_t number = 0;
    for (const TensorUpload& tensor : parameters.tensors())
        for (std::size_t i = 0; i < tensor.local.size(); ++i) {
            if (upload.has_left_out && tensor.update(i) == 0.0F) continue;
            block.add(tensor, i);
            if (block.full()) block.round(upload.key, number++, centroids, upload.keeps_residual);
        }
    if (!block.empty()) block.round(upload.key, number, centroids, upload.keeps_residual);
    parameters.put_back();
}

void size_of_rotated(UploadSize& size, std::uint32_t bits) {
    const std::uint64_t rest = size.parameters % kRotatedTogether;
    const std::uint64_t padded = size.parameters - rest + (rest == 0 ? 0 : std::bit_ceil(rest));
    const std::uint64_t blocks = size.parameters / kRotatedTogether + (rest == 0 ? 0 : 1);
    size.bits_each = bits;
    size.other_bytes += ((padded - size.parameters) * bits + 7) / 8 + blocks * sizeof(float) + sizeof(std::uint64_t);
}

}  // namespace fedhive::clients
