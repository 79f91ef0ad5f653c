// A 3 x 3 convolution of stride 1 by tiles (kernels/tiles.h): for each 2 x 2 outputs 16 products of matrices, of which rows are tiles, where 36 would
// be made without. What stands around them takes time by the channel, a product by pairs of channels: there must be a whole vector of them.
#include "clients/direct/ops.h"

#include <algorithm>

namespace fedhive::clients::direct {

namespace {

constexpr std::size_t kTaps = 9;

/// Tiles whose products are made at once: rows for blocks of registers, few enough to stay near.
constexpr std::size_t kTilesAtOnce = 24;

std::size_t halves(std::size_t pixels) { return (pixels + 1) / 2; }

/// So many lines of so many tiles.
struct Tiles {
    explicit Tiles(const Image& out) : lines(halves(out.height)), wide(halves(out.width)) {}
    std::size_t lines, wide;
    std::size_t lines_at_once() const { return std::max<std::size_t>(kTilesAtOnce / wide, 1); }
};

/// Tiles of some channels, place by place, a line of memory apart from a power of two: places one below the other would share the same lines of a
/// cache.
struct TileBlock {
    TileBlock(const Tiles& tiles, std::size_t channels)
        : place(tiles.lines_at_once() * tiles.wide * channels + kLaneCount), values(kTilePlaces * place) {}
    std::size_t place;
    Floats values;
};

class TiledConvolution final : public Op {
public:
    explicit TiledConvolution(const ConvolutionTerms& t)
        : Op(t.in.size(), t.out().size()),
          t_(t),
          out_(t.out()),
          out_tiles_(out_),
          in_tiles_(t.in),
          taps_(kTaps * t.in.channels * t.channels),
          weights_(kTilePlaces * t.in.channels * t.channels),
          turned_(weights_.size()),
          weight_sums_(weights_.size()),
          bias_sums_(t.channels),
          seen_(out_tiles_, t.in.channels),
          sums_(out_tiles_, t.channels),
          gradient_seen_(in_tiles_, t.channels),
          gradient_spread_(out_tiles_, t.channels),
          x_sums_(in_tiles_, t.in.channels) {}

    bool has_parameters() const override { return true; }
    void begin(const Pass& pass) override {
        const float* from = pass.parameters + t_.place.weight;
        for_each_weight([&](std::size_t tap, std::size_t in, std::size_t out, std::size_t place) {
            taps_[(tap * t_.in.channels + in) * t_.channels + out] = from[place];
        });
        pass.kernels->tile_weights(taps_.data(), weights_.data(), t_.in.channels * t_.channels);
    }

    void forward(const Pass& pass, const float* x, float* y, Rows rows) override {
        convolve(*pass.kernels, rows.count, out_tiles_, {x, t_.in, t_.padding}, seen_, weights_, sums_,
                 {.bias = has_bias() ? pass.parameters + t_.place.bias : nullptr,
                  .y = y,
                  .y_line = stride_of(out_.width * t_.channels),
                  .lines = out_.height,
                  .pixels = out_.width,
                  .channels = t_.channels,
                  .relu = t_.relu});
    }

    void begin_backward(const Pass& pass) override {
        std::fill(weight_sums_.begin(), weight_sums_.end(), 0.0F);
        std::fill(bias_sums_.begin(), bias_sums_.end(), 0.0F);
        const float* from = pass.parameters + t_.place.weight;
        for_each_weight([&](std::size_t tap, std::size_t in, std::size_t out, std::size_t place) {
            taps_[((kTaps - 1 - tap) * t_.channels + out) * t_.in.channels + in] = from[place];
        });
        pass.kernels->tile_weights(taps_.data(), turned_.data(), t_.channels * t_.in.channels);
    }

    void backward(const Pass& pass, const Flow& flow, Rows rows) override {
        {
            const Section section(pass, this, Part::WeightGradient);
            finish_gradient(*pass.kernels, flow, rows.count);
            add_weight_gradient(*pass.kernels, flow, rows.count);
        }
        if (flow.x_gradient == nullptr) return;
        convolve(*pass.kernels, rows.count, in_tiles_, {flow.y_gradient, out_, 2 - t_.padding}, gradient_seen_, turned_,
                 x_sums_,
                 {.y = flow.x_gradient,
                  .y_line = stride_of(t_.in.width * t_.in.channels),
                  .lines = t_.in.height,
                  .pixels = t_.in.width,
                  .channels = t_.in.channels});
    }

    void end_backward(const Pass& pass) override {
        pass.kernels->tile_weight_gradient(weight_sums_.data(), taps_.data(), t_.in.channels * t_.channels);
        float* to = pass.gradient + t_.place.weight;
        for_each_weight([&](std::size_t tap, std::size_t in, std::size_t out, std::size_t place) {
            to[place] = taps_[(tap * t_.in.channels + in) * t_.channels + out];
        });
        if (has_bias()) std::copy(bias_sums_.begin(), bias_sums_.end(), pass.gradient + t_.place.bias);
    }

private:
    bool has_bias() const { return t_.place.bias != Place::kNone; }

    /// visit(tap of the kernel, input channel, output channel, place among the weights as PyTorch has them), neighbours being outputs
    template <typename Visit>
    void for_each_weight(const Visit& visit) const {
        for (std::size_t in = 0; in < t_.in.channels; ++in)
            for (std::size_t tap = 0; tap < kTaps; ++tap)
                for (std::size_t out = 0; out < t_.channels; ++out)
                    visit(tap, in, out, (out * t_.in.channels + in) * kTaps + tap);
    }

    /// 0 where the output was cut off, in its place; what it sums to is added to bias_sums_.
    void finish_gradient(const Kernels& kernels, const Flow& flow, std::size_t images) {
        if (!t_.relu && !has_bias()) return;
        kernels.spread_row({.gradient = flow.y_gradient,
                            .y = t_.relu ? flow.y : nullptr,
                            .to = t_.relu ? flow.y_gradient : nullptr,
                            .bias_sums = bias_sums_.data(),
                            .pixels = images * out_.pixels(),
                            .channels = t_.channels});
    }

    /// work(first line of tiles, counted over all images, how many), as many as go at once
    template <typename Work>
    static void for_each_block(const Tiles& tiles, std::size_t images, const Work& work) {
        const std::size_t all = images * tiles.lines;
        for (std::size_t first = 0; first < all; first += tiles.lines_at_once())
            work(first, std::min(tiles.lines_at_once(), all - first));
    }

    /// Images with what zeros their tiles see around.
    struct Bordered {
        const float* x;
        Image image;
        std::size_t border;
    };

    using Transform = void (*)(const TileInputs&);

    /// Lines of tiles, place by place.
    static void see(Transform transform, const Tiles& tiles, const Bordered& from, std::size_t first, std::size_t lines,
                    TileBlock& seen) {
        for (std::size_t l = 0; l < lines; ++l)
            transform({.x = from.x + (first + l) / tiles.lines * from.image.size(),
                       .lines = from.image.height,
                       .pixels = from.image.width,
                       .channels = from.image.channels,
                       .first_line = stride_of(2 * ((first + l) % tiles.lines)) - stride_of(from.border),
                       .first_pixel = -stride_of(from.border),
                       .to = seen.values.data() + l * tiles.wide * from.image.channels,
                       .to_place = stride_of(seen.place),
                       .tiles = tiles.wide});
    }

    /// The outputs of all tiles; `out` says what is the same of each line.
    static void convolve(const Kernels& kernels, std::size_t images, const Tiles& tiles, const Bordered& from, TileBlock& seen,
                         const Floats& weights, TileBlock& sums, const TileOutputs& out) {
        const std::size_t channels = from.image.channels;
        for_each_block(tiles, images, [&](std::size_t first, std::size_t lines) {
            see(kernels.tile_inputs, tiles, from, first, lines, seen);
            for (std::size_t place = 0; place < kTilePlaces; ++place)
                kernels.rank_update({.a = seen.values.data() + place * seen.place,
                                     .a_row = stride_of(channels),
                                     .a_inner = 1,
                                     .m = weights.data() + place * channels * out.channels,
                                     .m_inner = stride_of(out.channels),
                                     .out = sums.values.data() + place * sums.place,
                                     .out_row = stride_of(out.channels),
                                     .rows = lines * tiles.wide,
                                     .columns = out.channels,
                                     .outer = 1,
                                     .inner = channels});
            for (std::size_t l = 0; l < lines; ++l) {
                const std::size_t image = (first + l) / tiles.lines, line = 2 * ((first + l) % tiles.lines);
                TileOutputs one = out;
                one.sums = sums.values.data() + l * tiles.wide * out.channels;
                one.sums_place = stride_of(sums.place);
                one.y += static_cast<Stride>(image * out.lines + line) * out.y_line;
                one.lines = out.lines - line;
                kernels.tile_outputs(one);
            }
        });
    }

    /// Place by place, over all tiles in their order.
    void add_weight_gradient(const Kernels& kernels, const Flow& flow, std::size_t images) {
        const Tiles& tiles = out_tiles_;
        for_each_block(tiles, images, [&](std::size_t first, std::size_t lines) {
            see(kernels.tile_inputs, tiles, {flow.x, t_.in, t_.padding}, first, lines, seen_);
            see(kernels.tile_gradients, tiles, {flow.y_gradient, out_, 0}, first, lines, gradient_spread_);
            for (std::size_t place = 0; place < kTilePlaces; ++place)
                kernels.rank_update({.a = seen_.values.data() + place * seen_.place,
                                     .a_row = 1,
                                     .a_inner = stride_of(t_.in.channels),
                                     .m = gradient_spread_.values.data() + place * gradient_spread_.place,
                                     .m_inner = stride_of(t_.channels),
                                     .out = weight_sums_.data() + place * t_.in.channels * t_.channels,
                                     .out_row = stride_of(t_.channels),
                                     .rows = t_.in.channels,
                                     .columns = t_.channels,
                                     .outer = 1,
                                     .inner = lines * tiles.wide,
                                     .add = true});
        });
    }

    ConvolutionTerms t_;
    Image out_;
    Tiles out_tiles_, in_tiles_;  // of what goes out, and of the gradient of what came in
    Floats taps_;                 // a kernel or its gradient: [taps][in][out], or turned round [taps][out][in]
    Floats weights_, turned_;     // [kTilePlaces][in][out], [kTilePlaces][out][in]
    Floats weight_sums_;          // as weights_
    Floats bias_sums_;            // [out]
    TileBlock seen_, sums_, gradient_seen_, gradient_spread_, x_sums_;
};

}  // namespace

bool goes_by_tiles(const ConvolutionTerms& t) {
    return t.kernel == 3 && t.stride == 1 && !t.pool && t.in.channels % kLaneCount == 0 && t.channels % kLaneCount == 0;
}

std::unique_ptr<Op> make_tiled_convolution(const ConvolutionTerms& terms) { return std::make_unique<TiledConvolution>(terms); }

}  // namespace fedhive::clients::direct
