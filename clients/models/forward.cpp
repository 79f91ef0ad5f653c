#include "clients/models/forward.h"

#include "clients/models/layer_table.h"
#include "clients/models/recurrent_forward.h"

#include <ATen/Context.h>
#include <ATen/functorch/BatchedTensorImpl.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/feature_dropout.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/group_norm.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>

#include <cmath>
#include <limits>

namespace fedhive::clients {

namespace {

using Tensors = std::span<const at::Tensor>;

constexpr double kNormEpsilon = 1e-5;
constexpr double kNewStatistics = 0.1;  // weight of a batch's statistics in the running ones

/// x Wᵀ + b of rows; bias: undefined: none.
at::Tensor product(const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& x) {
    // Batched: (W x^T)^T, so that the weights' gradient has the weights' own memory order instead of the transposed one.
    if (at::functorch::isBatchedTensor(weight)) {
        const at::Tensor y = at::matmul(weight, x.t()).t();
        return bias.defined() ? y.add(bias) : y;
    }
    return bias.defined() ? at::addmm(bias, x, weight.t()) : at::mm(x, weight.t());
}

/// The same of rows or of each position, with low-rank factors unless `factors` is empty.
at::Tensor project(const at::Tensor& weight, const at::Tensor& bias, Tensors factors, double scale, const at::Tensor& x) {
    if (x.dim() == 3)  // positions are treated as rows
        return project(weight, bias, factors, scale, x.flatten(0, 1)).view({x.size(0), x.size(1), -1});
    const at::Tensor y = product(weight, bias, x);
    return factors.empty() ? y : y.add(product(factors[1], {}, product(factors[0], {}, x).mul(scale)));
}

Forward linear(const Values& arguments, const Shape&) {
    const LowRankTerms factors = low_rank_terms(arguments);
    return [bias = arguments.flag("bias"), factors](Tensors parameters, const at::Tensor& x, bool) {
        return project(parameters[0], bias ? parameters[1] : at::Tensor(), factors.rank > 0 ? parameters.last(2) : Tensors(),
                       factors.scale, x);
    };
}

Forward scaled(const Values& arguments, const Shape&) {
    return [by = arguments.number("by")](Tensors, const at::Tensor& x, bool) { return x.mul(by); };
}

Forward conv2d(const Values& arguments, const Shape&) {
    const std::int64_t stride = arguments.integer("stride"), padding = arguments.integer("padding"),
                       groups = arguments.integer("groups");
    if (!arguments.flag("bias"))
        return [=](Tensors parameters, const at::Tensor& x, bool) {
            return at::conv2d(x, parameters[0], {}, stride, padding, 1, groups);
        };
    return [=](Tensors parameters, const at::Tensor& x, bool) {
        const at::Tensor &weight = parameters[0], &bias = parameters[1];
        // conv2d has no batching rule for its bias.
        if (at::functorch::isBatchedTensor(weight))
            return at::conv2d(x, weight, {}, stride, padding, 1, groups).add(bias.view({-1, 1, 1}));
        return at::conv2d(x, weight, bias, stride, padding, 1, groups);
    };
}

Forward max_pool(const Values& arguments, const Shape&) {
    return [windows = windows_of(arguments)](Tensors, const at::Tensor& x, bool) {
        return at::max_pool2d(x, windows.size, windows.stride, windows.padding);
    };
}

Forward avg_pool(const Values& arguments, const Shape&) {
    const PoolWindows windows = windows_of(arguments);
    if (windows.size == 0) return [](Tensors, const at::Tensor& x, bool) { return x.mean({-2, -1}, /*keepdim=*/true); };
    return [windows](Tensors, const at::Tensor& x, bool) {
        return at::avg_pool2d(x, windows.size, windows.stride, windows.padding);  // padding counts in the mean
    };
}

/// [B, groups · n, H, W]: channel j of group i becomes channel j · groups + i.
Forward channel_shuffle(const Values& arguments, const Shape& in) {
    return [groups = arguments.integer("groups"), in](Tensors, const at::Tensor& x, bool) {
        return x.reshape({x.size(0), groups, in[0] / groups, in[1], in[2]}).transpose(1, 2).flatten(1, 2);
    };
}

Forward dropout(const Values& arguments, const Shape&) {
    return [p = arguments.number("p")](Tensors, const at::Tensor& x, bool training) { return at::dropout(x, p, training); };
}

Forward dropout2d(const Values& arguments, const Shape&) {
    return [p = arguments.number("p")](Tensors, const at::Tensor& x, bool training) {
        return at::feature_dropout(x, p, training);
    };
}

at::Tensor batch_norm(Tensors tensors, const at::Tensor& x, bool training) {
    const bool has_variance = x.numel() > x.size(1);
    return at::batch_norm(x, tensors[0], tensors[1], tensors[2], tensors[3], training && has_variance, kNewStatistics,
                          kNormEpsilon, at::globalContext().userEnabledCuDNN());
}

Forward group_norm(const Values& arguments, const Shape&) {
    return [groups = arguments.integer("groups")](Tensors parameters, const at::Tensor& x, bool) {
        return at::group_norm(x, groups, parameters[0], parameters[1], kNormEpsilon);
    };
}

Forward layer_norm(const Values& arguments, const Shape& in) {
    const Shape over = arguments.flag("each_position") ? Shape{in.back()} : in;
    return [over](Tensors parameters, const at::Tensor& x, bool) {
        return at::layer_norm(x, over, parameters[0], parameters[1], kNormEpsilon);
    };
}

/// Tokens arrive as floats, which represent them exactly.
at::Tensor embedding(Tensors parameters, const at::Tensor& x, bool) {
    return at::embedding(parameters[0], x.flatten(1).to(at::kLong));
}

/// Products with one weight of all queries, keys and values or with three, without factors; each may have a bias, which is a vector.
std::vector<at::Tensor> products(Tensors& parameters, const at::Tensor& x, std::size_t count) {
    std::vector<at::Tensor> all;
    for (; all.size() < count; parameters = parameters.subspan(1)) {
        const at::Tensor weight = parameters[0];
        const bool biased = parameters.size() > 1 && parameters[1].dim() == 1;
        if (biased) parameters = parameters.subspan(1);
        all.push_back(project(weight, biased ? parameters[0] : at::Tensor(), {}, 1.0, x));
    }
    return all;
}

/// Attention from matrix products and a softmax, x: [B, T, D]. Not LibTorch's fused kernel, so that it can be batched and
/// recorded, and repeats its bits on a GPU.
Forward attention(const Values& arguments, const Shape& in) {
    return [heads = arguments.integer("heads"), causal = arguments.flag("causal"), p = arguments.number("dropout"),
            factors = low_rank_terms(arguments), positions = in[0]](Tensors parameters, const at::Tensor& x, bool training) {
        const auto projected = [&](std::size_t which, const at::Tensor& from) {
            return project(parameters[2 * which], parameters[2 * which + 1], parameters.subspan(4 + 2 * which, 2),
                           factors.scale, from);
        };
        Tensors rest = parameters;
        const bool apart = parameters[0].size(0) == x.size(-1);
        std::vector<at::Tensor> parts;  // queries, keys, values
        if (factors.rank > 0)
            parts = projected(0, x).chunk(3, -1);
        else
            parts = apart ? products(rest, x, 3) : products(rest, x, 1)[0].chunk(3, -1);
        for (at::Tensor& part : parts) part = part.view({x.size(0), positions, heads, -1}).transpose(1, 2);
        const at::Tensor queries = parts[0].mul(std::sqrt(1.0 / static_cast<double>(parts[0].size(-1))));
        at::Tensor scores = at::matmul(queries, parts[1].transpose(-2, -1));  // [B, heads, T, T]
        if (causal) {
            const at::Tensor later = at::ones({positions, positions}, x.options().dtype(at::kBool)).triu(1);
            scores = scores.masked_fill(later, -std::numeric_limits<double>::infinity());
        }
        at::Tensor shares = scores.softmax(-1);
        if (p > 0.0) shares = at::dropout(shares, p, training);
        const at::Tensor seen = at::matmul(shares, parts[2]).transpose(1, 2).flatten(2);
        return factors.rank > 0 ? projected(1, seen) : products(rest, seen, 1)[0];
    };
}

Forward last_position(const Values&, const Shape& in) {
    return [last = in[0] - 1](Tensors, const at::Tensor& x, bool) { return x.select(1, last); };
}

using Make = std::function<Forward(const Values& arguments, const Shape& in)>;

/// The maker for a kind without arguments.
Make plainly(const Forward& forward) {
    return [forward](const Values&, const Shape&) { return forward; };
}

struct LayerForward {
    LayerKind kind = LayerKind::Linear;
    Make make;
};

const LayerTable<LayerForward>& forwards() {
    static const LayerTable<LayerForward> table{
        {LayerKind::Linear, linear},
        {LayerKind::Conv2d, conv2d},
        {LayerKind::MaxPool, max_pool},
        {LayerKind::AvgPool, avg_pool},
        {LayerKind::ChannelShuffle, channel_shuffle},
        {LayerKind::Relu, plainly([](Tensors, const at::Tensor& x, bool) { return x.relu(); })},
        {LayerKind::Tanh, plainly([](Tensors, const at::Tensor& x, bool) { return x.tanh(); })},
        {LayerKind::Gelu, plainly([](Tensors, const at::Tensor& x, bool) { return at::gelu(x); })},
        {LayerKind::Scale, scaled},
        {LayerKind::Dropout, dropout},
        {LayerKind::Dropout2d, dropout2d},
        {LayerKind::Flatten, plainly([](Tensors, const at::Tensor& x, bool) { return x.flatten(1); })},
        {LayerKind::BatchNorm, plainly(batch_norm)},
        {LayerKind::GroupNorm, group_norm},
        {LayerKind::LayerNorm, layer_norm},
        {LayerKind::Embedding, plainly(embedding)},
        {LayerKind::Lstm, lstm_forward},
        {LayerKind::Gru, gru_forward},
        {LayerKind::Position, plainly([](Tensors parameters, const at::Tensor& x, bool) { return x.add(parameters[0]); })},
        {LayerKind::Attention, attention},
        {LayerKind::LastPosition, last_position},
        {LayerKind::Mean, plainly([](Tensors, const at::Tensor& x, bool) { return x.mean(1); })}};
    return table;
}

}  // namespace

Forward make_forward(LayerKind kind, const Values& arguments, const Shape& in) {
    return forwards().at(kind).make(arguments, in);
}

void initialise(at::Tensor& tensor, const Parameter& parameter) {
    const at::NoGradGuard no_grad;
    switch (parameter.initial) {
        case Initial::Kaiming: {
            // Kaiming's rule for a leaky ReLU of slope sqrt(5), as torch.nn writes it. Its
            // last bits differ from 1 / sqrt(fan_in).
            const double slope = std::sqrt(5.0);
            const double bound = std::sqrt(3.0) * (std::sqrt(2.0 / (1.0 + std::pow(slope, 2))) / std::sqrt(parameter.fan_in));
            tensor.uniform_(-bound, bound);
            return;
        }
        case Initial::FanIn:
            tensor.uniform_(-1.0 / std::sqrt(parameter.fan_in), 1.0 / std::sqrt(parameter.fan_in));
            return;
        case Initial::Normal:
            tensor.normal_();
            return;
        case Initial::Xavier: {
            const double bound = std::sqrt(6.0 / static_cast<double>(tensor.size(0) + tensor.size(1)));
            tensor.uniform_(-bound, bound);
            return;
        }
        case Initial::Ones:
            tensor.fill_(1.0);
            return;
        case Initial::Zeros:
            tensor.zero_();
            return;
    }
}

}  // namespace fedhive::clients
