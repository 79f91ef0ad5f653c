// Low-rank factors beside a layer's product: y += scale · (x · Aᵀ) · Bᵀ and their gradients. A: [rank][in], B: [out][rank].
#pragma once

#include "clients/direct/ops/dense.h"
#include "clients/direct/planner.h"

#include <optional>

namespace fedhive::clients::direct {

class LowRank {
public:
    /// a, b: the factors' offsets
    LowRank(std::size_t in, std::size_t out, std::size_t rank, double scale, std::size_t a, std::size_t b);

    /// rows: of the largest batch
    void reserve(std::size_t rows);
    void begin(const Pass& pass);

    /// Adds to y, [rows][out].
    void forward(const Pass& pass, const float* x, float* y, std::size_t rows);

    /// Of the whole batch, after its forward(). Adds to x_gradient unless that is null; writes or steps the factors' gradients.
    void backward(const Pass& pass, const Op* op, const float* x, const float* y_gradient, float* x_gradient, std::size_t rows);

    void fused_parameters(std::vector<ParameterRange>& ranges) const;

private:
    void scale(Floats& values, std::size_t rows) const;

    Dense down_, up_;
    float scale_;
    Floats inner_, inner_gradient_;  // scale · x · Aᵀ, and the gradient of x · Aᵀ, [rows][rank]
};

/// The factors `prefix` + "A" and "B" of a planned layer of `in` features and `out`; none if it has no rank.
std::optional<LowRank> low_rank_of(const Making& making, const std::string& prefix, std::size_t in, std::size_t out);

}  // namespace fedhive::clients::direct
