// Batch norm over the pixels of a whole batch, or over its examples for flat features, with a fused ReLU.
//
//   y = (x − mean) / sqrt(variance + ε) · weight + bias, per channel
//
// Training  mean and biased variance of the batch; the running ones move by kNewStatistics towards its mean and unbiased variance,
//           as nn.BatchNorm2d's. A batch with one value per channel is normalised by the running ones, which then stay.
// Order     a channel's sums over pieces of examples, whose size the shape gives, in ascending order and in double.
#include "clients/direct/planner.h"
#include "clients/direct/shared_rules.h"

#include <algorithm>
#include <cmath>

namespace fedhive::clients::direct {

namespace {

/// Offsets of the layer's tensors.
struct BatchNormPlace {
    TensorOffsets affine;
    std::size_t mean = 0, variance = 0;
};

class BatchNorm final : public Op {
public:
    BatchNorm(const Image& in, bool relu, const BatchNormPlace& place)
        : Op(in.size(), in.size()),
          in_(in),
          relu_(relu),
          place_(place),
          piece_(std::max<std::size_t>(1, kPieceFloats / in.size())),
          sums_(in.channels),
          along_(in.channels),
          mean_(in.channels),
          inverse_(in.channels),
          first_(in.channels),
          second_(in.channels),
          third_(in.channels) {}

    bool has_parameters() const override { return true; }
    bool mixes_examples() const override { return true; }

    void forward(const Pass& pass, const float* x, float* y, ExampleRange rows) override {
        of_batch_ = pass.training && rows.count * in_.pixels() > 1;
        if (of_batch_)
            take_statistics(pass, x, rows.count);
        else
            take_running(pass);
        const float* weight = pass.values(place_.affine.weight);
        for (std::size_t c = 0; c < in_.channels; ++c) first_[c] = inverse_[c] * weight[c];
        pass.kernels->norm_rows({.x = x,
                                 .mean = mean_.data(),
                                 .scale = first_.data(),
                                 .shift = pass.values(place_.affine.bias),
                                 .y = y,
                                 .pixels = rows.count * in_.pixels(),
                                 .channels = in_.channels,
                                 .relu = relu_});
    }

    /// dx = inverse · weight · (g − mean(g) − n · mean(g · n)) with n = (x − mean) · inverse, means over the batch; by the
    /// running statistics, which do not depend on x, inverse · weight · g.
    void backward(const Pass& pass, const Flow& flow, ExampleRange rows) override {
        const std::size_t pixels = rows.count * in_.pixels();
        const float* y = relu_ ? flow.y : nullptr;
        pass.kernels->norm_sums({.x = flow.x,
                                 .gradient = flow.y_gradient,
                                 .y = y,
                                 .mean = mean_.data(),
                                 .pixels = pixels,
                                 .channels = in_.channels,
                                 .sums = sums_.data(),
                                 .along = along_.data()});
        const float* weight = pass.values(place_.affine.weight);
        float *weight_gradient = pass.gradient_of(place_.affine.weight), *bias_gradient = pass.gradient_of(place_.affine.bias);
        for (std::size_t c = 0; c < in_.channels; ++c) {
            const double scale = static_cast<double>(inverse_[c]), of_batch = of_batch_ ? 1.0 : 0.0;
            if (weight_gradient != nullptr) weight_gradient[c] = static_cast<float>(along_[c] * scale);
            if (bias_gradient != nullptr) bias_gradient[c] = static_cast<float>(sums_[c]);
            first_[c] = inverse_[c] * weight[c];
            const double factor = of_batch * -scale * static_cast<double>(weight[c]) / static_cast<double>(pixels);
            second_[c] = static_cast<float>(factor * scale * scale * along_[c]);
            third_[c] = static_cast<float>(factor * sums_[c]);
        }
        if (flow.x_gradient == nullptr) return;
        pass.kernels->norm_back({.x = flow.x,
                                 .gradient = flow.y_gradient,
                                 .y = y,
                                 .mean = mean_.data(),
                                 .of_gradient = first_.data(),
                                 .of_value = second_.data(),
                                 .constant = third_.data(),
                                 .x_gradient = flow.x_gradient,
                                 .pixels = pixels,
                                 .channels = in_.channels});
    }

private:
    static constexpr std::size_t kPieceFloats = 1 << 14;  // of a piece, read twice: 64 KiB stay in the second cache

    /// The batch's mean and inverse deviation; moves the running ones. Each piece's squares are taken about its own mean m and
    /// moved to the batch's: Σ (x − mean)² = Σ (x − m)² + 2 (m − mean) Σ (x − m) + n (m − mean)².
    void take_statistics(const Pass& pass, const float* x, std::size_t examples) {
        const std::size_t pieces = (examples + piece_ - 1) / piece_, channels = in_.channels;
        piece_sums_.resize(pieces * channels);
        piece_squares_.resize(pieces * channels);
        piece_means_.resize(pieces * channels);
        const auto pixels_of = [&](std::size_t p) { return std::min(piece_, examples - p * piece_) * in_.pixels(); };
        for (std::size_t p = 0; p < pieces; ++p) {
            ChannelSums sums{.x = x + p * piece_ * inputs(),
                             .pixels = pixels_of(p),
                             .channels = channels,
                             .sums = piece_sums_.data() + p * channels};
            pass.kernels->channel_sums(sums);
            float* mean = piece_means_.data() + p * channels;
            for (std::size_t c = 0; c < channels; ++c)
                mean[c] = static_cast<float>(sums.sums[c] / static_cast<double>(sums.pixels));
            sums.mean = mean;
            sums.sums = piece_squares_.data() + p * channels;
            pass.kernels->channel_sums(sums);
        }
        const auto count = static_cast<double>(examples * in_.pixels());
        for (std::size_t c = 0; c < channels; ++c) {
            double sum = 0.0, squares = 0.0;
            for (std::size_t p = 0; p < pieces; ++p) sum += piece_sums_[p * channels + c];
            const double mean = sum / count;
            for (std::size_t p = 0; p < pieces; ++p) {
                const auto n = static_cast<double>(pixels_of(p)), about = static_cast<double>(piece_means_[p * channels + c]);
                squares += piece_squares_[p * channels + c] +
                           (about - mean) * (2.0 * (piece_sums_[p * channels + c] - n * about) + n * (about - mean));
            }
            squares = std::max(squares, 0.0);  // rounding may leave less; a NaN stays
            mean_[c] = static_cast<float>(mean);
            inverse_[c] = static_cast<float>(1.0 / std::sqrt(squares / count + shared::kNormEpsilon));
            if (pass.moved == nullptr) continue;
            move(pass, place_.mean + c, mean);
            move(pass, place_.variance + c, squares / (count - 1.0));
        }
    }

    static void move(const Pass& pass, std::size_t at, double to) {
        const auto before = static_cast<double>(pass.parameters[at]);
        pass.moved[at] = static_cast<float>((1.0 - shared::kNewStatistics) * before + shared::kNewStatistics * to);
    }

    void take_running(const Pass& pass) {
        const float *mean = pass.parameters + place_.mean, *variance = pass.parameters + place_.variance;
        std::copy_n(mean, in_.channels, mean_.data());
        for (std::size_t c = 0; c < in_.channels; ++c)
            inverse_[c] = static_cast<float>(1.0 / std::sqrt(static_cast<double>(variance[c]) + shared::kNormEpsilon));
    }

    Image in_;
    bool relu_;
    BatchNormPlace place_;
    std::size_t piece_;                               // examples of a piece
    bool of_batch_ = false;                           // the last forward() took the batch's statistics
    std::vector<double> piece_sums_, piece_squares_;  // [pieces][channels]
    Floats piece_means_;                              // likewise
    std::vector<double> sums_, along_;                // [channels]
    Floats mean_, inverse_, first_, second_, third_;  // likewise
};

}  // namespace

LayerOp batch_norm_op() {
    return {.kind = LayerKind::BatchNorm, .make = [](const Making& m) {
                const BatchNormPlace place{m.planner.place_of(m.layer), m.planner.place_of(m.layer, "running_mean"),
                                           m.planner.place_of(m.layer, "running_var")};
                const bool relu = m.is_relu_next();
                return Made{std::make_unique<BatchNorm>(image_of(m.layer.in), relu, place), relu ? 1U : 0U};
            }};
}

}  // namespace fedhive::clients::direct
