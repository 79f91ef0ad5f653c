// The planner's line for convolutions: which layers are fused, and which form computes them.
#include "clients/direct/ops/convolution.h"

#include "clients/direct/planner.h"

namespace fedhive::clients::direct {

ConvolutionSizes::ConvolutionSizes(const ConvolutionTerms& t)
    : convolved(t.convolved()),
      out(t.out()),
      padded{t.in.height + 2 * t.padding, t.in.width + 2 * t.padding, t.in.channels},
      out_lanes(to_lanes(t.channels)),
      row(t.kernel * t.in.channels),
      of_output(t.kernel * row) {}

PaddedImages::PaddedImages(const ConvolutionTerms& t, std::size_t images) : terms_(t), padded_(ConvolutionSizes(t).padded) {
    reserve(images);
}

void PaddedImages::reserve(std::size_t images) {
    if (terms_.padding > 0) copies_.assign(images * padded_.size(), 0.0F);
}

const float* PaddedImages::pad(const float* x, std::size_t r) {
    if (terms_.padding == 0) return x;
    float* to = copies_.data() + r * padded_.size();
    const std::size_t channels = terms_.in.channels, line = terms_.in.width * channels, pitch = padded_.width * channels;
    for (std::size_t i = 0; i < terms_.in.height; ++i)
        std::copy_n(x + i * line, line, to + (i + terms_.padding) * pitch + terms_.padding * channels);
    return to;
}

ForwardWeights::ForwardWeights(const ConvolutionTerms& t)
    : terms_(t), out_lanes_(to_lanes(t.channels)), values_(t.kernel * t.kernel * t.in.channels * out_lanes_) {}

void ForwardWeights::take(const float* weights) {
    // Written in memory order: output channels are contiguous.
    const std::size_t taps = terms_.kernel * terms_.kernel, of_output = terms_.in.channels * taps;
    for (std::size_t in = 0; in < terms_.in.channels; ++in)
        for (std::size_t tap = 0; tap < taps; ++tap) {
            const float* from = weights + in * taps + tap;
            float* to = values_.data() + (tap * terms_.in.channels + in) * out_lanes_;
            for (std::size_t out = 0; out < terms_.channels; ++out) to[out] = from[out * of_output];
        }
}

void convolve_line(const Kernels& kernels, const ConvolutionTerms& terms, const ConvolutionSizes& sizes,
                   const ForwardWeights& weights, const float* x, std::size_t line, std::size_t pixels, float* to) {
    kernels.gemm({.a = x + line * terms.stride * sizes.pitch(),
                  .a_row = stride_of(terms.stride * terms.in.channels),
                  .a_outer = stride_of(sizes.pitch()),
                  .a_inner = 1,
                  .m = weights.data(),
                  .m_outer = stride_of(sizes.row * sizes.out_lanes),
                  .m_inner = stride_of(sizes.out_lanes),
                  .out = to,
                  .out_row = stride_of(sizes.out_lanes),
                  .rows = pixels,
                  .columns = sizes.out_lanes,
                  .outer = terms.kernel,
                  .inner = sizes.row});
}

namespace {

std::unique_ptr<Op> make_convolution(const ConvolutionTerms& terms, std::size_t groups, const Kernels& kernels) {
    if (groups > 1)
        return groups == terms.in.channels ? make_depthwise_convolution(terms) : make_grouped_convolution(terms, groups);
    if (terms.pool) return make_pooled_convolution(terms, kernels);
    return uses_winograd(terms) ? make_winograd_convolution(terms) : make_dense_convolution(terms);
}

/// Fuses a convolution with one relu, one dropout2d and one 2 × 2 max pool after it, in any order: a maximum commutes with a
/// ReLU and with factors >= 0. Without a pool, or with groups, only a relu right after it is fused.
Made make_fused(const Making& m) {
    const PlannedLayer& layer = m.layer;
    ConvolutionTerms terms{.in = image_of(layer.in),
                           .channels = argument(layer, "out"),
                           .kernel = argument(layer, "kernel"),
                           .stride = argument(layer, "stride"),
                           .padding = argument(layer, "padding"),
                           .place = m.planner.place_of(layer),
                           .memory = m.planner.winograd_memory()};
    const PlannedLayer* drop = nullptr;
    const std::size_t groups = argument(layer, "groups");
    std::size_t fused = 0;
    for (; groups == 1 && fused < m.after.size(); ++fused) {
        const PlannedLayer& next = m.after[fused];
        if (next.kind == LayerKind::Relu && !terms.relu)
            terms.relu = true;
        else if (next.kind == LayerKind::MaxPool && !terms.pool && argument(next, "size") == 2 &&
                 windows_of(next.arguments).abut())
            terms.pool = true;
        else if (next.kind == LayerKind::Dropout2d && drop == nullptr)
            drop = &next;
        else
            break;
    }
    if (!terms.pool) {
        terms.relu = m.is_relu_next();
        fused = terms.relu ? 1 : 0;
    } else if (drop != nullptr) {
        terms.drop = m.planner.next_drop(*drop);
    }
    terms.whole_batch = groups == 1 && !terms.pool && has_wide_tensor(layer);
    return {make_convolution(terms, groups, m.planner.kernels()), fused};
}

std::string_view lacking_in(const PlannedLayer& layer) {
    return argument(layer, "padding") >= argument(layer, "kernel") ? "conv2d with padding not smaller than its kernel" : "";
}

}  // namespace

LayerOp conv2d_op() { return {.kind = LayerKind::Conv2d, .lacks = lacking_in, .make = make_fused}; }

}  // namespace fedhive::clients::direct
