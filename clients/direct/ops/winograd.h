// A stride-1 convolution by Winograd F(2 × 2, 3 × 3) (kernels/winograd.h): 16 matrix products with one row per tile, which take 16
// multiplications per 2 × 2 outputs and pair of channels instead of 36. The transforms take time per channel, the products save time per
// pair of channels. So it pays with many channels only, and is used if both channel counts are multiples of sixteen.
#pragma once

#include "clients/direct/ops/convolution.h"

#include <algorithm>
#include <memory>

namespace fedhive::clients::direct {

/// Memory of a network that its convolutions use in turn: each holds nothing in it between two of its calls, but transformed weights as long
/// as it is their owner.
struct WinogradMemory {
    Floats blocks[2], weights;
    const void* owner = nullptr;  // of the weights
};

/// Floats of a WinogradMemory, as many as the largest user needs.
class WinogradFloats {
public:
    WinogradFloats(std::shared_ptr<WinogradMemory> memory, Floats& floats, std::size_t size)
        : memory_(std::move(memory)), floats_(&floats) {
        if (floats.size() < size) Floats(size).swap(floats);
    }
    float* data() const { return floats_->data(); }

private:
    std::shared_ptr<WinogradMemory> memory_;
    Floats* floats_;
};

/// Transformed tiles, [place][tile][channel]. Places are padded by one cache line, so that they do not compete for the same
/// cache sets.
struct WinogradBlock {
    WinogradBlock(std::size_t tiles, std::size_t of_tile, const std::shared_ptr<WinogradMemory>& memory, std::size_t which)
        : channels(of_tile),
          place(tiles * of_tile + kLaneCount),
          values(memory, memory->blocks[which], kWinogradPlaces * place) {}
    float* tile(std::size_t i) const { return values.data() + i * channels; }

    std::size_t channels, place;
    WinogradFloats values;
};

/// How zero-padded images divide into tiles: `lines` lines of `wide` tiles each. Lines are numbered through all images.
struct WinogradImages {
    Image image;
    std::size_t border = 0;
    std::size_t lines = 0, wide = 0;  // per image

    std::size_t tiles_at_once = 24;

    /// The tiles that give `out`, two by two outputs each. channels: of the product's two sides.
    static WinogradImages under(const Image& image, std::size_t border, const Image& out, std::size_t in_channels,
                                std::size_t out_channels) {
        // At least two register tiles. With more channels, so many that the tiles are as large as the weights, which each block reads.
        const std::size_t tiles = std::max<std::size_t>(24, in_channels * out_channels / (in_channels + out_channels));
        return {image, border, (out.height + 1) / 2, (out.width + 1) / 2, tiles};
    }

    /// Lines of tiles per product.
    std::size_t at_once() const { return std::max<std::size_t>(tiles_at_once / wide, 1); }

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

/// The order of a convolution's weights [out][in][3][3] in blocks of kLaneCount × kLaneCount pairs of channels, which are transposed to
/// [tap][row][lane].
struct WeightBlocks {
    static constexpr std::size_t kTaps = 9, kSide = kLaneCount, kSize = kTaps * kSide * kSide;

    std::size_t in = 0, out = 0;

    /// visit(index in the block, index in the weights) for the block whose first channels are (from_in, from_out). Lanes are output
    /// channels, rows input channels; flipped: the other way around, taps in reverse.
    template <typename Visit>
    void for_each(std::size_t from_in, std::size_t from_out, bool flipped, const Visit& visit) const {
        for (std::size_t o = 0; o < kSide; ++o)
            for (std::size_t i = 0; i < kSide; ++i) {
                const std::size_t weight = ((from_out + o) * in + from_in + i) * kTaps;
                for (std::size_t tap = 0; tap < kTaps; ++tap)
                    visit(flipped ? ((kTaps - 1 - tap) * kSide + o) * kSide + i : (tap * kSide + i) * kSide + o, weight + tap);
            }
    }
};

/// Convolves images with stored weights.
class WinogradConvolver {
public:
    /// memory: the network's; weights: holds the transformed weights. flipped: an input gradient, whose `from` has the convolution's output
    /// channels
    WinogradConvolver(const Image& from, std::size_t border, const Image& out, const std::shared_ptr<WinogradMemory>& memory,
                      const std::shared_ptr<WinogradMemory>& weights, bool flipped = false)
        : from_(WinogradImages::under(from, border, out, from.channels, out.channels)),
          channels_(out.channels),
          flipped_(flipped),
          holder_(weights),
          weights_(weights, weights->weights, kWinogradPlaces * of_place()),
          input_block_(from_.at_once() * from_.wide, from.channels, memory, 0),
          sums_(from_.at_once() * from_.wide, out.channels, memory, 1) {}

    /// Whether the weights of the last take_weights() are there.
    bool has_weights() const { return holder_->owner == this; }
    void drop_weights() {
        if (has_weights()) holder_->owner = nullptr;
    }

    /// Called before for_each_line() unless has_weights(): transforms the convolution's weights, [out][in][3][3].
    void take_weights(const Kernels& kernels, const float* weights) {
        holder_->owner = this;
        const std::size_t rows = from_.image.channels;
        const WeightBlocks blocks = flipped_ ? WeightBlocks{channels_, rows} : WeightBlocks{rows, channels_};
        alignas(64) float taps[WeightBlocks::kSize];
        for (std::size_t column = 0; column < channels_; column += WeightBlocks::kSide)
            for (std::size_t row = 0; row < rows; row += WeightBlocks::kSide) {
                blocks.for_each(flipped_ ? column : row, flipped_ ? row : column, flipped_,
                                [&](std::size_t at, std::size_t weight) { taps[at] = weights[weight]; });
                kernels.winograd_weights({.from = taps,
                                          .from_plane = WeightBlocks::kSide * WeightBlocks::kSide,
                                          .from_row = WeightBlocks::kSide,
                                          .to = weights_.data() + (column / kPanel * rows + row) * kPanel + column % kPanel,
                                          .to_plane = stride_of(of_place()),
                                          .to_row = kPanel,
                                          .rows = WeightBlocks::kSide});
            }
    }

    /// Calls finish(image, line of tiles in it, sums) for each line of tiles. sums: [place][tile][out] before the output transform; two
    /// places are sums_place() floats apart.
    template <typename Finish>
    void for_each_line(const Kernels& kernels, const float* x, std::size_t images, const Finish& finish) {
        from_.for_each_block(images, [&](std::size_t first, std::size_t lines) {
            from_.transform(kernels.winograd_inputs, x, first, lines, input_block_);
            kernels.gemm({.a = input_block_.values.data(),
                          .a_row = stride_of(from_.image.channels),
                          .a_inner = 1,
                          .m = weights_.data(),
                          .m_inner = kPanel,
                          .m_panel = stride_of(from_.image.channels * kPanel),
                          .out = sums_.values.data(),
                          .out_row = stride_of(channels_),
                          .rows = lines * from_.wide,
                          .columns = channels_,
                          .outer = 1,
                          .inner = from_.image.channels,
                          .products = kWinogradPlaces,
                          .a_next = stride_of(input_block_.place),
                          .m_next = stride_of(of_place()),
                          .out_next = stride_of(sums_.place)});
            for (std::size_t l = 0; l < lines; ++l)
                finish((first + l) / from_.lines, (first + l) % from_.lines, sums_.tile(l * from_.wide));
        });
    }
    Stride sums_place() const { return stride_of(sums_.place); }

private:
    /// Floats of the weights at a place, and of one cache line, so that places do not compete for the same cache sets.
    std::size_t of_place() const { return to_panels(channels_) * from_.image.channels + kLaneCount; }

    WinogradImages from_;
    std::size_t channels_;
    bool flipped_;
    std::shared_ptr<WinogradMemory> holder_;
    WinogradFloats weights_;  // [kWinogradPlaces][panels][from's channels][kPanel]
    WinogradBlock input_block_, sums_;
};

}  // namespace fedhive::clients::direct
