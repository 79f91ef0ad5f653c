// Self-attention over the positions of a sequence, with several heads (arXiv:1706.03762); tensors as nn.MultiheadAttention's.
//
//   q, k, v = x · inᵀ + b         [positions][features] each, a head has features / heads of them, d
//   p       = softmax(q · kᵀ / sqrt(d)), over earlier positions alone if causal
//   y       = (dropout(p) · v) · outᵀ + b
//
// Queries, keys and values come from one product, or from three. Products may lack a bias, and may have low-rank factors.
#include "clients/direct/ops/low_rank.h"

#include <algorithm>
#include <cmath>

namespace fedhive::clients::direct {

namespace {

/// A product with its factors, of rows of the whole batch.
struct Projection {
    Dense dense;
    std::optional<LowRank> factors;

    void reserve(std::size_t rows) {
        if (factors) factors->reserve(rows);
    }
    void begin(const Pass& pass) {
        dense.begin(pass);
        if (factors) factors->begin(pass);
    }
    void forward(const Pass& pass, const float* x, float* y, std::size_t rows) {
        dense.forward_many(pass, x, y, rows);
        if (factors) factors->forward(pass, x, y, rows);
    }
    /// x_gradient: null: not wanted; add: to what it holds
    void backward(const Pass& pass, const Op* op, const float* x, float* y_gradient, float* x_gradient, std::size_t rows,
                  bool add = false) {
        dense.finish_gradient(pass, nullptr, y_gradient, rows);
        if (x_gradient != nullptr) dense.input_gradient(pass, y_gradient, x_gradient, rows, add);
        if (factors) factors->backward(pass, op, x, y_gradient, x_gradient, rows);
        const ProfileScope scope(pass, op, StepPhase::WeightGradient);
        dense.weight_gradient(pass, x, y_gradient, rows);
    }
    void fused_parameters(std::vector<ParameterRange>& ranges) const {
        dense.fused_parameters(ranges);
        if (factors) factors->fused_parameters(ranges);
    }
};

class Attention final : public Op {
public:
    /// in: one projection to queries, keys and values, or one to each
    Attention(std::size_t positions, std::size_t features, std::size_t heads, bool causal, Drop drop,
              std::vector<Projection> in, Projection out)
        : Op(positions * features, positions * features),
          positions_(positions),
          features_(features),
          heads_(heads),
          width_(features / heads),
          causal_(causal),
          drop_(drop),
          scale_(static_cast<float>(std::sqrt(1.0 / static_cast<double>(width_)))),
          row_(3 * features / in.size()),
          in_(std::move(in)),
          out_(std::move(out)),
          turned_(width_ * positions),
          scores_gradient_(positions * positions),
          dropped_(drop.p > 0.0 ? positions * positions : 0) {}

    bool has_parameters() const override { return true; }
    void reserve(std::size_t examples, std::size_t group) override {
        for (Projection& each : in_) each.reserve(examples * positions_);
        out_.reserve(examples * positions_);
        projected_.resize(examples * 3 * inputs());
        shares_.resize(examples * heads_ * positions_ * positions_);
        seen_.resize(examples * inputs());
        projected_gradient_.resize(group * 3 * inputs());
        seen_gradient_.resize(group * inputs());
    }
    void begin(const Pass& pass) override {
        for (Projection& each : in_) each.begin(pass);
        out_.begin(pass);
    }

    void forward(const Pass& pass, const float* x, float* y, ExampleRange rows) override {
        float* seen = seen_.data() + rows.first * inputs();
        for (std::size_t i = 0; i < in_.size(); ++i)
            in_[i].forward(pass, x, piece(projected_, i) + rows.first * row_ * positions_, rows.count * positions_);
        for_each_head(rows, [&](std::size_t r, std::size_t head, float* shares) {
            const float *queries = part(projected_, rows.first + r, head, 0), *keys = part(projected_, rows.first + r, head, 1);
            multiply_turned(pass, queries, row_, keys, shares);
            pass.kernels->softmax(
                {.scores = shares, .rows = positions_, .columns = positions_, .scale = scale_, .causal = causal_});
            multiply(pass, dropped(pass, shares), positions_, 1, part(projected_, rows.first + r, head, 2), row_,
                     seen + r * inputs() + head * width_, features_);
        });
        out_.forward(pass, seen, y, rows.count * positions_);
    }

    void backward(const Pass& pass, const Flow& flow, ExampleRange rows) override {
        const std::size_t count = rows.count * positions_;
        const float* seen = seen_.data() + rows.first * inputs();
        out_.backward(pass, this, seen, flow.y_gradient, seen_gradient_.data(), count);
        for_each_head(rows, [&](std::size_t r, std::size_t head, const float* shares) {
            Floats& to = projected_gradient_;
            const float* gradient = seen_gradient_.data() + r * inputs() + head * width_;
            const float *queries = part(projected_, rows.first + r, head, 0), *keys = part(projected_, rows.first + r, head, 1),
                        *values = part(projected_, rows.first + r, head, 2);
            multiply(pass, dropped(pass, shares), 1, positions_, gradient, features_, part(to, r, head, 2), row_);
            multiply_turned(pass, gradient, features_, values, scores_gradient_.data());
            if (drops(pass))
                drop_values(pass, scores_gradient_.data(), scores_gradient_.data(), scores_gradient_.size(), drop_,
                            number_of(shares));
            pass.kernels->softmax_gradient({.shares = shares,
                                            .gradient = scores_gradient_.data(),
                                            .rows = positions_,
                                            .columns = positions_,
                                            .scale = scale_});
            multiply(pass, scores_gradient_.data(), positions_, 1, keys, row_, part(to, r, head, 0), row_);
            multiply(pass, scores_gradient_.data(), 1, positions_, queries, row_, part(to, r, head, 1), row_);
        });
        for (std::size_t i = 0; i < in_.size(); ++i)
            in_[i].backward(pass, this, flow.x, piece(projected_gradient_, i), flow.x_gradient, count, i > 0);
    }

    void fused_parameters(std::vector<ParameterRange>& ranges) const override {
        for (const Projection& each : in_) each.fused_parameters(ranges);
        out_.fused_parameters(ranges);
    }

private:
    /// visit(example in the rows, head, the head's shares [positions][positions])
    template <typename Visit>
    void for_each_head(ExampleRange rows, const Visit& visit) {
        const std::size_t square = positions_ * positions_;
        for (std::size_t r = 0; r < rows.count; ++r)
            for (std::size_t head = 0; head < heads_; ++head)
                visit(r, head, shares_.data() + ((rows.first + r) * heads_ + head) * square);
    }

    bool drops(const Pass& pass) const { return drop_.p > 0.0 && pass.training; }

    /// The number in the batch of a head's first share.
    std::size_t number_of(const float* shares) const { return static_cast<std::size_t>(shares - shares_.data()); }

    /// A head's shares after dropout.
    const float* dropped(const Pass& pass, const float* shares) {
        if (!drops(pass)) return shares;
        drop_values(pass, shares, dropped_.data(), dropped_.size(), drop_, number_of(shares));
        return dropped_.data();
    }

    /// What projection i gives, [examples][positions][row].
    float* piece(Floats& projected, std::size_t i) const { return projected.data() + projected.size() / in_.size() * i; }

    /// A head's queries (0), keys (1) or values (2) of an example, [positions] rows of `row_` floats.
    float* part(Floats& projected, std::size_t r, std::size_t head, std::size_t which) const {
        float* example = piece(projected, in_.size() == 1 ? 0 : which) + r * positions_ * row_;
        return example + (in_.size() == 1 ? which * features_ : 0) + head * width_;
    }

    /// out[positions][positions] = a · bᵀ; a: rows of `a_row` floats, b: of `row_`.
    void multiply_turned(const Pass& pass, const float* a, std::size_t a_row, const float* b, float* out) {
        for (std::size_t p = 0; p < positions_; ++p)
            for (std::size_t i = 0; i < width_; ++i) turned_[i * positions_ + p] = b[p * row_ + i];
        pass.kernels->gemm({.a = a,
                            .a_row = stride_of(a_row),
                            .a_inner = 1,
                            .m = turned_.data(),
                            .m_inner = stride_of(positions_),
                            .out = out,
                            .out_row = stride_of(positions_),
                            .rows = positions_,
                            .columns = positions_,
                            .outer = 1,
                            .inner = width_});
    }

    /// out[positions][width] = a · m with a[row · a_row + inner · a_inner].
    void multiply(const Pass& pass, const float* a, std::size_t a_row, std::size_t a_inner, const float* m, std::size_t m_row,
                  float* out, std::size_t out_row) const {
        pass.kernels->gemm({.a = a,
                            .a_row = stride_of(a_row),
                            .a_inner = stride_of(a_inner),
                            .m = m,
                            .m_inner = stride_of(m_row),
                            .out = out,
                            .out_row = stride_of(out_row),
                            .rows = positions_,
                            .columns = width_,
                            .outer = 1,
                            .inner = positions_});
    }

    std::size_t positions_, features_, heads_, width_;
    bool causal_;
    Drop drop_;  // of shares
    float scale_;
    std::size_t row_;  // floats that a projection gives for a position
    std::vector<Projection> in_;
    Projection out_;
    Floats projected_;                           // queries, keys, values: [in][examples][positions][row]
    Floats shares_;                              // [examples][heads][positions][positions]
    Floats seen_;                                // weighted values: [examples][positions][features]
    Floats projected_gradient_, seen_gradient_;  // of the rows
    Floats turned_, scores_gradient_, dropped_;  // of one head
};

}  // namespace

LayerOp attention_op() {
    return {.kind = LayerKind::Attention, .make = [](const Making& m) {
                const auto features = static_cast<std::size_t>(m.layer.in[1]);
                const auto projection = [&](const std::string& tensor, std::size_t out) {
                    const std::string end = tensor == "in_proj" ? "_" : ".";
                    const TensorOffsets place = m.planner.place_of(m.layer, tensor + end + "weight", tensor + end + "bias");
                    return Projection{Dense(features, out, place), low_rank_of(m, tensor + ".", features, out)};
                };
                std::vector<Projection> in;
                if (m.layer.find_tensor("in_proj_weight") != nullptr)
                    in.push_back(projection("in_proj", 3 * features));
                else
                    for (const char* part : {"q_proj", "k_proj", "v_proj"}) in.push_back(projection(part, features));
                return Made{std::make_unique<Attention>(static_cast<std::size_t>(m.layer.in[0]), features,
                                                        argument(m.layer, "heads"), m.layer.arguments.flag("causal"),
                                                        m.planner.inner_drop(m.layer), std::move(in),
                                                        projection("out_proj", features))};
            }};
}

}  // namespace fedhive::clients::direct
