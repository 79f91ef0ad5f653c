#include "clients/direct/ops/pooled_weight_gradient.h"

#include "clients/direct/ops/sparse_gradient.h"

#include <algorithm>

namespace fedhive::clients::direct {

namespace {

class SparseWeightGradient final : public PooledWeightGradient {
public:
    explicit SparseWeightGradient(const ConvolutionTerms& t)
        : PooledWeightGradient(t), t_(t), sizes_(t), offsets_(t), padded_(t), sums_(t.channels * sizes_.of_output) {}

    void reserve(std::size_t images) override {
        padded_.reserve(images);
        of_channel_.reserve(t_.channels, images * sizes_.out.pixels());
    }

    void begin() override {
        PooledWeightGradient::begin();
        std::fill(sums_.begin(), sums_.end(), 0.0F);
        of_channel_.clear();
    }

    void take(const Kernels& kernels, const float* x, const float* gradient, const std::uint8_t* argmax,
              std::size_t r) override {
        padded_.pad(x + r * t_.in.size(), r);
        for (std::size_t c = 0; c < t_.channels; ++c) {
            std::size_t& count = of_channel_.counts[c];
            count += kernels.sparse_channel_gradient({.values = gradient + c,
                                                      .argmax = argmax + c,
                                                      .stride = t_.channels,
                                                      .pixels = sizes_.out.pixels(),
                                                      .at_pixel = offsets_.of_pixel.data(),
                                                      .at_window = offsets_.in_window.data(),
                                                      .add = static_cast<std::int32_t>(r * sizes_.padded.size()),
                                                      .at = of_channel_.at_of(c) + count,
                                                      .listed = of_channel_.values_of(c) + count});
        }
    }

    void end_group(const Kernels& kernels, const float* x) override {
        for (std::size_t c = 0; c < t_.channels; ++c) {
            const float* values = of_channel_.values_of(c);
            for (std::size_t n = 0; n < of_channel_.counts[c]; ++n) bias_sums_[c] += values[n];
            kernels.sparse_update({.out = sums_.data() + c * sizes_.of_output,
                                   .out_row = stride_of(sizes_.row),
                                   .m = padded_.all(x),
                                   .m_row = stride_of(sizes_.pitch()),
                                   .rows = t_.kernel,
                                   .columns = sizes_.row,
                                   .at = of_channel_.at_of(c),
                                   .values = values,
                                   .count = of_channel_.counts[c]});
        }
        of_channel_.clear();
    }

    void write(float* weights) const override {
        for_each_weight(t_, [&](std::size_t tap, std::size_t in, std::size_t out, std::size_t place) {
            weights[place] = sums_[out * sizes_.of_output + tap * t_.in.channels + in];
        });
    }

private:
    ConvolutionTerms t_;
    ConvolutionSizes sizes_;
    WindowOffsets offsets_;
    PaddedImages padded_;  // the group's
    Floats sums_;          // [out][kernel][kernel][in]
    SparseGradient of_channel_;
};

class SingleChannelWeightGradient final : public PooledWeightGradient {
public:
    explicit SingleChannelWeightGradient(const ConvolutionTerms& t)
        : PooledWeightGradient(t), t_(t), sizes_(t), padded_(t), sums_(sizes_.of_output * sizes_.out_lanes) {}

    void begin() override {
        PooledWeightGradient::begin();
        std::fill(sums_.begin(), sums_.end(), 0.0F);
    }

    void take(const Kernels& kernels, const float* x, const float* gradient, const std::uint8_t* argmax,
              std::size_t r) override {
        kernels.single_channel_gradient({.x = padded_.pad(x + r * t_.in.size()),
                                         .x_line = stride_of(sizes_.pitch()),
                                         .values = gradient,
                                         .argmax = argmax,
                                         .lines = sizes_.out.height,
                                         .pixels = sizes_.out.width,
                                         .channels = t_.channels,
                                         .padded = sizes_.out_lanes,
                                         .kernel = t_.kernel,
                                         .sums = sums_.data(),
                                         .bias_sums = bias_sums_.data()});
    }

    void write(float* weights) const override {
        for_each_weight(t_, [&](std::size_t tap, std::size_t, std::size_t out, std::size_t place) {
            weights[place] = sums_[tap * sizes_.out_lanes + out];
        });
    }

private:
    ConvolutionTerms t_;
    ConvolutionSizes sizes_;
    PaddedImages padded_;
    Floats sums_;  // [kernel][kernel][out_lanes]
};

}  // namespace

void PooledWeightGradient::begin() { std::fill(bias_sums_.begin(), bias_sums_.end(), 0.0F); }

bool fits_single_channel(const ConvolutionTerms& t) {
    return t.in.channels == 1 && t.stride == 1 && t.kernel <= kMostSingleChannelTaps;
}

std::unique_ptr<PooledWeightGradient> sparse_weight_gradient(const ConvolutionTerms& terms) {
    return std::make_unique<SparseWeightGradient>(terms);
}
std::unique_ptr<PooledWeightGradient> single_channel_weight_gradient(const ConvolutionTerms& terms) {
    return std::make_unique<SingleChannelWeightGradient>(terms);
}

}  // namespace fedhive::clients::direct
