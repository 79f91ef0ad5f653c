// A stride-1 convolution by Winograd F(2 × 2, 3 × 3) (kernels/winograd.h): 16 matrix products with one row per tile, which take 16
// multiplications per 2 × 2 outputs and pair of channels instead of 36. The transforms take time per channel, the products save time per
// pair of channels. So it pays with many channels only, and is used if both channel counts are multiples of sixteen.
#pragma once

#include "clients/direct/ops/convolution.h"

#include <algorithm>

namespace fedhive::clients::direct {

/// Transformed tiles, [place][tile][channel]. Places are padded by one cache line, so that they do not compete for the same
/// cache sets.
struct WinogradBlock {
    WinogradBlock(std::size_t tiles, std::size_t of_tile)
        : channels(of_tile), place(tiles * of_tile + kLaneCount), values(kWinogradPlaces * place) {}
    float* tile(std::size_t i) { return values.data() + i * channels; }
    const float* at_place(std::size_t i) const { return values.data() + i * place; }
    float* at_place(std::size_t i) { return values.data() + i * place; }

    std::size_t channels, place;
    Floats values;
};

/// How zero-padded images divide into tiles: `lines` lines of `wide` tiles each. Lines are numbered through all images.
struct WinogradImages {
    Image image;
    std::size_t border = 0;
    std::size_t lines = 0, wide = 0;  // per image

    /// The tiles that give `out`, two by two outputs each.
    static WinogradImages under(const Image& image, std::size_t border, const Image& out) {
        return {image, border, (out.height + 1) / 2, (out.width + 1) / 2};
    }

    /// Lines of tiles per product: enough rows for a register tile, few enough to stay cached.
    std::size_t at_once() const { return std::max<std::size_t>(kTilesAtOnce / wide, 1); }
    static constexpr std::size_t kTilesAtOnce = 24;

    /// Calls work(first line, number of lines) for blocks of at most at_once() lines.
    template <typename Work>
    void for_each_block(std::size_t images, const Work& work) const {
        for (std::size_t first = 0; first < images * lines; first += at_once())
            work(first, std::min(at_once(), images * lines - first));
    }

    /// Transforms lines [first, first + count) into `to` by a kernel, winograd_inputs or winograd_gradients; x: the first
    /// image.
    void transform(void (*kernel)(const WinogradInputs&), const float* x, std::size_t first, std::size_t count,
                   WinogradBlock& to) const {
        for (std::size_t l = 0; l < count; ++l)
            kernel({.x = x + (first + l) / lines * image.size(),
                    .lines = image.height,
                    .pixels = image.width,
                    .channels = image.channels,
                    .first_line = stride_of(2 * ((first + l) % lines)) - stride_of(border),
                    .first_pixel = -stride_of(border),
                    .to = to.tile(l * wide),
                    .to_place = stride_of(to.place),
                    .tiles = wide});
    }
};

/// Convolves images with stored weights.
class WinogradConvolver {
public:
    WinogradConvolver(const Image& from, std::size_t border, const Image& out)
        : from_(WinogradImages::under(from, border, out)),
          channels_(out.channels),
          weights_(kWinogradPlaces * from.channels * out.channels),
          input_block_(from_.at_once() * from_.wide, from.channels),
          sums_(from_.at_once() * from_.wide, out.channels) {}

    /// Called once per batch: transforms the weights, taps [3][3][in][out].
    void take_weights(const Kernels& kernels, const float* taps) {
        kernels.winograd_weights(taps, weights_.data(), from_.image.channels * channels_);
    }

    /// Calls finish(image, line of tiles in it, sums) for each line of tiles. sums: [place][tile][out] before the output transform; two
    /// places are sums_place() floats apart.
    template <typename Finish>
    void for_each_line(const Kernels& kernels, const float* x, std::size_t images, const Finish& finish) {
        from_.for_each_block(images, [&](std::size_t first, std::size_t lines) {
            from_.transform(kernels.winograd_inputs, x, first, lines, input_block_);
            for (std::size_t place = 0; place < kWinogradPlaces; ++place)
                kernels.gemm({.a = input_block_.at_place(place),
                              .a_row = stride_of(from_.image.channels),
                              .a_inner = 1,
                              .m = weights_.data() + place * from_.image.channels * channels_,
                              .m_inner = stride_of(channels_),
                              .out = sums_.at_place(place),
                              .out_row = stride_of(channels_),
                              .rows = lines * from_.wide,
                              .columns = channels_,
                              .outer = 1,
                              .inner = from_.image.channels});
            for (std::size_t l = 0; l < lines; ++l)
                finish((first + l) / from_.lines, (first + l) % from_.lines, sums_.tile(l * from_.wide));
        });
    }
    Stride sums_place() const { return stride_of(sums_.place); }

private:
    WinogradImages from_;
    std::size_t channels_;
    Floats weights_;  // [kWinogradPlaces][in][out]
    WinogradBlock input_block_, sums_;
};

}  // namespace fedhive::clients::direct
