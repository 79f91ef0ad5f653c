// Deeper networks for the ideal loop, as an expert writes them with LibTorch's fused operators: residual networks, a stacked LSTM, a
// causal transformer with and without low-rank factors beside frozen weights. Same layers as the workload's config of fedhive.
#pragma once

#include "tests/bench/ideal_parts.h"

#include <ATen/ATen.h>

namespace fedhive::bench {

/// The tensors in the order in which a network reads them.
class Cursor {
public:
    explicit Cursor(const Tensors& all) : all_(&all) {}
    const at::Tensor& operator()() { return (*all_)[next_++]; }
    Tensors take(std::size_t count) {
        const auto from = all_->begin() + static_cast<std::ptrdiff_t>(next_);
        next_ += count;
        return {from, from + static_cast<std::ptrdiff_t>(count)};
    }

private:
    const Tensors* all_;
    std::size_t next_ = 0;
};

/// Residual networks of basic blocks: `channels` in the first of `stages` stages of `blocks` blocks.
struct Residual {
    std::int64_t channels = 0;
    int stages = 0, blocks = 0;
    bool batch_norm = false;

    at::Tensor norm(Cursor& next, const at::Tensor& x) const {
        const at::Tensor &weight = next(), &bias = next();
        if (!batch_norm) return at::group_norm(x, 2, weight, bias);
        const at::Tensor &mean = next(), &variance = next();
        return at::batch_norm(x, weight, bias, mean, variance, true, 0.1, 1e-5, false);
    }

    at::Tensor forward(const Tensors& p, at::Tensor x) const {
        Cursor next(p);
        x = norm(next, at::conv2d(x, next(), {}, 1, 1)).relu_();
        for (int stage = 0; stage < stages; ++stage)
            for (int block = 0; block < blocks; ++block) {
                const std::int64_t stride = stage > 0 && block == 0 ? 2 : 1;
                at::Tensor y = norm(next, at::conv2d(x, next(), {}, stride, 1)).relu_();
                y = norm(next, at::conv2d(y, next(), {}, 1, 1));
                if (stride == 2) x = norm(next, at::conv2d(x, next(), {}, 2));
                x = y.add_(x).relu_();
            }
        const at::Tensor &weight = next(), &bias = next();
        return at::linear(x.mean({2, 3}), weight, bias);
    }

    std::vector<Part> parts(std::int64_t in, std::int64_t classes) const {
        std::vector<Part> all;
        const auto convolution = [&](std::int64_t from, std::int64_t to, std::int64_t kernel) {
            all.push_back({{to, from, kernel, kernel}});
            all.push_back({{to}, Part::Role::Trained, true});
            all.push_back({{to}});
            for (int i = 0; batch_norm && i < 2; ++i) all.push_back({{to}, Part::Role::Buffer, i == 1});
        };
        convolution(in, channels, 3);
        std::int64_t from = channels;
        for (int stage = 0; stage < stages; ++stage)
            for (int block = 0; block < blocks; ++block) {
                const std::int64_t to = channels << stage;
                convolution(from, to, 3);
                convolution(to, to, 3);
                if (stage > 0 && block == 0) convolution(from, to, 1);
                from = to;
            }
        all.push_back({{classes, from}});
        all.push_back({{classes}});
        return all;
    }
};

/// An embedding of 8, two LSTM layers of 256, softmax after the last token.
struct CharLstm {
    static constexpr std::int64_t kDim = 8, kHidden = 256;

    static at::Tensor forward(const Tensors& p, const at::Tensor& x) {
        Cursor next(p);
        const at::Tensor embedded = at::embedding(next(), x);
        const at::Tensor zeros = at::zeros({2, x.size(0), kHidden});
        const at::Tensor states =
            std::get<0>(at::lstm(embedded, {zeros, zeros}, next.take(8), true, 2, 0.0, true, false, true));
        const at::Tensor &weight = next(), &bias = next();
        return at::linear(states.select(1, -1), weight, bias);
    }

    static std::vector<Part> parts(std::int64_t tokens, std::int64_t classes) {
        std::vector<Part> all{{{tokens, kDim}}};
        for (const std::int64_t in : {kDim, kHidden})
            for (const std::vector<std::int64_t>& shape :
                 {std::vector{4 * kHidden, in}, {4 * kHidden, kHidden}, {4 * kHidden}, {4 * kHidden}})
                all.push_back({shape});
        all.push_back({{classes, kHidden}});
        all.push_back({{classes}});
        return all;
    }
};

/// Two pre-norm blocks of causal attention, 4 heads, and of a 4 times wider layer with GELU. rank: of factors beside each product
/// in a block, which then are all that is trained; 0: none.
struct CharTransformer {
    static constexpr std::int64_t kWidth = 128, kHeads = 4, kBlocks = 2;
    std::int64_t rank = 0;

    at::Tensor product(Cursor& next, const at::Tensor& x) const {
        const at::Tensor &weight = next(), &bias = next();
        const at::Tensor y = at::linear(x, weight, bias);
        if (rank == 0) return y;
        const at::Tensor &a = next(), &b = next();
        return at::add(y, at::linear(at::linear(x, a), b));
    }

    static at::Tensor norm(Cursor& next, const at::Tensor& x) {
        const at::Tensor &weight = next(), &bias = next();
        return at::layer_norm(x, {kWidth}, weight, bias);
    }

    at::Tensor forward(const Tensors& p, const at::Tensor& tokens) const {
        Cursor next(p);
        const at::Tensor &table = next(), &places = next();
        at::Tensor x = at::embedding(table, tokens).add(places);
        for (std::int64_t block = 0; block < kBlocks; ++block) {
            const std::vector<at::Tensor> parts = product(next, norm(next, x)).chunk(3, -1);
            const auto heads = [&](std::size_t i) {
                return parts[i].view({x.size(0), x.size(1), kHeads, kWidth / kHeads}).transpose(1, 2);
            };
            const at::Tensor seen = at::scaled_dot_product_attention(heads(0), heads(1), heads(2), {}, 0.0, true);
            x = x.add(product(next, seen.transpose(1, 2).flatten(2)));
            x = x.add(product(next, at::gelu(product(next, norm(next, x)))));
        }
        x = norm(next, x).select(1, -1);
        const at::Tensor &weight = next(), &bias = next();
        return at::linear(x, weight, bias);
    }

    std::vector<Part> parts(std::int64_t tokens, std::int64_t length, std::int64_t classes) const {
        const Part::Role base = rank > 0 ? Part::Role::Frozen : Part::Role::Trained;
        std::vector<Part> all{{{tokens, kWidth}, base}, {{length, kWidth}, base}};
        const auto add_product = [&](std::int64_t in, std::int64_t out) {
            all.push_back({{out, in}, base});
            all.push_back({{out}, base});
            if (rank == 0) return;
            all.push_back({{rank, in}});
            all.push_back({{out, rank}});
        };
        const auto add_norm = [&] {
            all.push_back({{kWidth}, base, true});
            all.push_back({{kWidth}, base});
        };
        for (std::int64_t block = 0; block < kBlocks; ++block) {
            add_norm();
            add_product(kWidth, 3 * kWidth);
            add_product(kWidth, kWidth);
            add_norm();
            add_product(kWidth, 4 * kWidth);
            add_product(4 * kWidth, kWidth);
        }
        add_norm();
        all.push_back({{classes, kWidth}, base});
        all.push_back({{classes}, base});
        return all;
    }
};

}  // namespace fedhive::bench
