#include "clients/direct/ops/sparse_gradient.h"

namespace fedhive::clients::direct {

WindowOffsets::WindowOffsets(const ConvolutionTerms& t) {
    const ConvolutionSizes sizes(t);
    const auto offset = [&](std::size_t line, std::size_t pixel) {
        return static_cast<std::int32_t>(line * t.stride * sizes.pitch() + pixel * t.stride * t.in.channels);
    };
    for (std::size_t p = 0; p < sizes.out.pixels(); ++p)
        of_pixel.push_back(offset(2 * (p / sizes.out.width), 2 * (p % sizes.out.width)));
    for (std::size_t q = 0; q < kMasked; ++q) in_window[q] = offset(q / 2, q % 2);
}

SparseInputGradient::SparseInputGradient(const ConvolutionTerms& t)
    : t_(t),
      sizes_(t),
      offsets_(t),
      weights_(t.channels * sizes_.of_output),
      padded_gradient_(t.padding > 0 ? sizes_.padded.size() : 0) {
    of_window_.reserve(kMasked, t.channels);
    for (std::size_t c = 0; c < sizes_.out_lanes; ++c) at_channel_.push_back(static_cast<std::int32_t>(c * sizes_.of_output));
}

void SparseInputGradient::take_weights(const float* weights) {
    for_each_weight(t_, [&](std::size_t tap, std::size_t in, std::size_t out, std::size_t place) {
        weights_[out * sizes_.of_output + tap * t_.in.channels + in] = weights[place];
    });
}

void SparseInputGradient::run(const Kernels& kernels, const float* gradient, const std::uint8_t* argmax, float* x_gradient) {
    float* to = t_.padding == 0 ? x_gradient : padded_gradient_.data();
    std::fill_n(to, sizes_.padded.size(), 0.0F);
    SparsePixelGradient list{.at_channel = at_channel_.data(), .channels = t_.channels};
    for (std::size_t q = 0; q < kMasked; ++q) {
        list.at[q] = of_window_.at_of(q);
        list.listed[q] = of_window_.values_of(q);
    }
    for (std::size_t p = 0; p < sizes_.out.pixels(); ++p) {
        list.values = gradient + p * t_.channels;
        list.argmax = argmax + p * t_.channels;
        kernels.sparse_pixel_gradient(list);
        for (std::size_t q = 0; q < kMasked; ++q)
            kernels.sparse_update({.out = to + offsets_.of_pixel[p] + offsets_.in_window[q],
                                   .out_row = stride_of(sizes_.pitch()),
                                   .m = weights_.data(),
                                   .m_row = stride_of(sizes_.row),
                                   .rows = t_.kernel,
                                   .columns = sizes_.row,
                                   .at = list.at[q],
                                   .values = list.listed[q],
                                   .count = list.counts[q]});
    }
    if (t_.padding == 0) return;
    const std::size_t line = t_.in.width * t_.in.channels;
    for (std::size_t i = 0; i < t_.in.height; ++i)
        std::copy_n(to + (i + t_.padding) * sizes_.pitch() + t_.padding * t_.in.channels, line, x_gradient + i * line);
}

}  // namespace fedhive::clients::direct
