#include "clients/direct/ops/low_rank.h"

namespace fedhive::clients::direct {

LowRank::LowRank(std::size_t in, std::size_t out, std::size_t rank, double scale, std::size_t a, std::size_t b)
    : down_(in, rank, {a, TensorOffsets::kNone}),
      up_(rank, out, {b, TensorOffsets::kNone}),
      scale_(static_cast<float>(scale)) {}

void LowRank::reserve(std::size_t rows) {
    for (Floats* each : {&inner_, &inner_gradient_}) each->resize(rows * down_.out());
}

void LowRank::begin(const Pass& pass) {
    down_.begin(pass);
    up_.begin(pass);
}

void LowRank::scale(Floats& values, std::size_t rows) const {
    if (scale_ == 1.0F) return;
    for (std::size_t i = 0; i < rows * down_.out(); ++i) values[i] *= scale_;
}

void LowRank::forward(const Pass& pass, const float* x, float* y, std::size_t rows) {
    down_.forward_many(pass, x, inner_.data(), rows);
    scale(inner_, rows);
    up_.add_many(pass, inner_.data(), y, rows);
}

void LowRank::backward(const Pass& pass, const Op* op, const float* x, const float* y_gradient, float* x_gradient,
                       std::size_t rows) {
    up_.input_gradient(pass, y_gradient, inner_gradient_.data(), rows);
    scale(inner_gradient_, rows);
    if (x_gradient != nullptr) down_.input_gradient(pass, inner_gradient_.data(), x_gradient, rows, true);
    const ProfileScope scope(pass, op, StepPhase::WeightGradient);
    up_.weight_gradient(pass, inner_.data(), y_gradient, rows);
    down_.weight_gradient(pass, x, inner_gradient_.data(), rows);
}

void LowRank::fused_parameters(std::vector<ParameterRange>& ranges) const {
    down_.fused_parameters(ranges);
    up_.fused_parameters(ranges);
}

std::optional<LowRank> low_rank_of(const Making& making, const std::string& prefix, std::size_t in, std::size_t out) {
    const LowRankTerms terms = low_rank_terms(making.layer.arguments);
    if (terms.rank == 0) return std::nullopt;
    return LowRank(in, out, static_cast<std::size_t>(terms.rank), terms.scale,
                   making.planner.place_of(making.layer, prefix + "A"), making.planner.place_of(making.layer, prefix + "B"));
}

}  // namespace fedhive::clients::direct
