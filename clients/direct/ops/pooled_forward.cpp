#include "clients/direct/ops/pooled_forward.h"

#include "clients/direct/ops/winograd.h"

#include <algorithm>

namespace fedhive::clients::direct {

namespace {

class PooledByLines final : public PooledForward {
public:
    explicit PooledByLines(const ConvolutionTerms& t)
        : t_(t), sizes_(t), padded_(t), lines_(2 * sizes_.convolved.width * sizes_.out_lanes) {}

    void run(const Kernels& kernels, const ForwardWeights& weights, const PooledImages& images) override {
        const std::size_t pixels = sizes_.out.width;
        float *upper = lines_.data(), *lower = upper + 2 * pixels * sizes_.out_lanes;
        for (std::size_t r = 0; r < images.count; ++r) {
            const float* x = padded_.pad(images.x + r * t_.in.size());
            for (std::size_t i = 0; i < sizes_.out.height; ++i) {
                convolve_line(kernels, t_, sizes_, weights, x, 2 * i, 2 * pixels, upper);
                convolve_line(kernels, t_, sizes_, weights, x, 2 * i + 1, 2 * pixels, lower);
                const std::size_t at = r * sizes_.out.size() + i * pixels * t_.channels;
                kernels.pool2x2({.upper = upper,
                                 .lower = lower,
                                 .bias = images.bias,
                                 .scale = images.scale_of(r, t_.channels),
                                 .y = images.y + at,
                                 .argmax = images.argmax + at,
                                 .pixels = pixels,
                                 .channels = t_.channels,
                                 .padded = sizes_.out_lanes,
                                 .relu = t_.relu});
            }
        }
    }

private:
    ConvolutionTerms t_;
    ConvolutionSizes sizes_;
    PaddedImages padded_;
    Floats lines_;  // two lines of the convolution
};

class PooledByPixels final : public PooledForward {
public:
    explicit PooledByPixels(const ConvolutionTerms& t)
        : t_(t), sizes_(t), padded_(t), planes_(sizes_.padded.size() + 2 * kPixelsAtOnce, 0.0F) {
        for (std::size_t k1 = 0; k1 < t.kernel; ++k1)
            for (std::size_t k2 = 0; k2 < t.kernel; ++k2)
                for (std::size_t c = 0; c < t.in.channels; ++c)
                    at_tap_.push_back(static_cast<std::int32_t>(c * sizes_.padded.pixels() + k1 * sizes_.padded.width + k2));
    }

    void run(const Kernels& kernels, const ForwardWeights& weights, const PooledImages& images) override {
        for (std::size_t r = 0; r < images.count; ++r)
            kernels.convolve_pool2x2({.x = in_planes(padded_.pad(images.x + r * t_.in.size())),
                                      .x_line = stride_of(sizes_.padded.width),
                                      .at = at_tap_.data(),
                                      .weights = weights.data(),
                                      .taps = sizes_.of_output,
                                      .bias = images.bias,
                                      .scale = images.scale_of(r, t_.channels),
                                      .y = images.y + r * sizes_.out.size(),
                                      .argmax = images.argmax + r * sizes_.out.size(),
                                      .lines = sizes_.out.height,
                                      .pixels = sizes_.out.width,
                                      .channels = t_.channels,
                                      .padded = sizes_.out_lanes,
                                      .relu = t_.relu});
    }

private:
    /// The padded image, [in][padded height][padded width].
    const float* in_planes(const float* x) {
        const std::size_t channels = sizes_.padded.channels, pixels = sizes_.padded.pixels();
        float* to = planes_.data() + kPixelsAtOnce;
        if (channels == 1) std::copy_n(x, pixels, to);
        for (std::size_t c = 0; c < channels && channels > 1; ++c)
            for (std::size_t p = 0; p < pixels; ++p) to[c * pixels + p] = x[p * channels + c];
        return to;
    }

    ConvolutionTerms t_;
    ConvolutionSizes sizes_;
    PaddedImages padded_;
    Floats planes_;                     // in_planes() with kPixelsAtOnce floats before and after
    std::vector<std::int32_t> at_tap_;  // offset in planes_ of each tap's input
};

class PooledByWinograd final : public PooledForward {
public:
    explicit PooledByWinograd(const ConvolutionTerms& t)
        : t_(t),
          out_(t.out()),
          convolver_(t.in, t.padding, Image{2 * out_.height, 2 * out_.width, t.channels},
                     t.memory != nullptr ? t.memory : std::make_shared<WinogradMemory>(), std::make_shared<WinogradMemory>()) {}

    void begin(const Kernels& kernels, const float* weights) override { convolver_.take_weights(kernels, weights); }

    void run(const Kernels& kernels, const ForwardWeights&, const PooledImages& images) override {
        convolver_.for_each_line(kernels, images.x, images.count, [&](std::size_t r, std::size_t line, const float* sums) {
            const std::size_t at = r * out_.size() + line * out_.width * t_.channels;
            kernels.winograd_pool2x2({.sums = sums,
                                      .sums_place = convolver_.sums_place(),
                                      .bias = images.bias,
                                      .scale = images.scale_of(r, t_.channels),
                                      .y = images.y + at,
                                      .argmax = images.argmax + at,
                                      .pixels = out_.width,
                                      .channels = t_.channels,
                                      .relu = t_.relu});
        });
    }

private:
    ConvolutionTerms t_;
    Image out_;
    WinogradConvolver convolver_;
};

}  // namespace

bool fills_pixels(const ConvolutionTerms& t) {
    const ConvolutionSizes sizes(t);
    const std::size_t places = sizes.out.height * ((sizes.out.width + kPixelsAtOnce / 2 - 1) / (kPixelsAtOnce / 2));
    return t.stride == 1 && 5 * places * t.channels <= 4 * 4 * sizes.out.pixels() * (sizes.out_lanes / kLaneCount);
}

std::unique_ptr<PooledForward> pooled_by_lines(const ConvolutionTerms& terms) { return std::make_unique<PooledByLines>(terms); }
std::unique_ptr<PooledForward> pooled_by_pixels(const ConvolutionTerms& terms) {
    return std::make_unique<PooledByPixels>(terms);
}
std::unique_ptr<PooledForward> pooled_by_winograd(const ConvolutionTerms& terms) {
    return std::make_unique<PooledByWinograd>(terms);
}

}  // namespace fedhive::clients::direct
