// Group norm over an image's channels; over features in a row it is layer norm, with one group.
#include "clients/direct/ops.h"

#include <algorithm>
#include <cmath>

namespace fedhive::clients::direct {

namespace {

constexpr double kEpsilon = 1e-5;

class GroupNorm final : public Op {
public:
    GroupNorm(const Image& in, std::size_t groups, bool by_value, Place place)
        : Op(in.size(), in.size()), in_(in), groups_(groups), by_value_(by_value), place_(place) {
        weight_sums_.resize(scales());
        bias_sums_.resize(scales());
    }

    void reserve(std::size_t examples, std::size_t) override {
        mean_.resize(examples * groups_);
        inverse_.resize(examples * groups_);
    }

    void forward(const Pass& pass, const float* x, float* y, Rows rows) override {
        const float *weight = pass.parameters + place_.weight, *bias = pass.parameters + place_.bias;
        for (std::size_t r = 0; r < rows.count; ++r, x += inputs(), y += inputs())
            for (std::size_t g = 0; g < groups_; ++g) {
                double sum = 0.0, squares = 0.0;
                for_each(g, [&](std::size_t i, std::size_t) { sum += static_cast<double>(x[i]); });
                const double mean = sum / size_of_group();
                for_each(g, [&](std::size_t i, std::size_t) {
                    const double off = static_cast<double>(x[i]) - mean;
                    squares += off * off;
                });
                const double inverse = 1.0 / std::sqrt(squares / size_of_group() + kEpsilon);
                const std::size_t at = (rows.first + r) * groups_ + g;
                mean_[at] = static_cast<float>(mean);
                inverse_[at] = static_cast<float>(inverse);
                for_each(g, [&](std::size_t i, std::size_t scale) {
                    y[i] = (x[i] - mean_[at]) * inverse_[at] * weight[scale] + bias[scale];
                });
            }
    }

    void begin_backward(const Pass&) override {
        weight_sums_.assign(scales(), 0.0F);
        bias_sums_.assign(scales(), 0.0F);
    }

    void backward(const Pass& pass, const Flow& flow, Rows rows) override {
        const float* weight = pass.parameters + place_.weight;
        for (std::size_t r = 0; r < rows.count; ++r) {
            const float *x = flow.x + r * inputs(), *gradient = flow.y_gradient + r * inputs();
            for (std::size_t g = 0; g < groups_; ++g) {
                const std::size_t at = (rows.first + r) * groups_ + g;
                const float mean = mean_[at], inverse = inverse_[at];
                double sum = 0.0, along = 0.0;
                for_each(g, [&](std::size_t i, std::size_t scale) {
                    const float normal = (x[i] - mean) * inverse, scaled = gradient[i] * weight[scale];
                    weight_sums_[scale] += gradient[i] * normal;
                    bias_sums_[scale] += gradient[i];
                    sum += static_cast<double>(scaled);
                    along += static_cast<double>(scaled) * static_cast<double>(normal);
                });
                if (flow.x_gradient == nullptr) continue;
                const double size = size_of_group();
                const auto mean_gradient = static_cast<float>(sum / size), mean_along = static_cast<float>(along / size);
                float* to = flow.x_gradient + r * inputs();
                for_each(g, [&](std::size_t i, std::size_t scale) {
                    const float normal = (x[i] - mean) * inverse;
                    to[i] = inverse * (gradient[i] * weight[scale] - mean_gradient - normal * mean_along);
                });
            }
        }
    }

    void end_backward(const Pass& pass) override {
        std::copy(weight_sums_.begin(), weight_sums_.end(), pass.gradient + place_.weight);
        std::copy(bias_sums_.begin(), bias_sums_.end(), pass.gradient + place_.bias);
    }

private:
    /// Groups are of equal size.
    double size_of_group() const { return static_cast<double>(inputs()) / static_cast<double>(groups_); }
    std::size_t scales() const { return by_value_ ? in_.size() : in_.channels; }

    /// visit(place of a value, place of its scale) for each value of a group.
    template <typename Visit>
    void for_each(std::size_t group, const Visit& visit) const {
        const std::size_t width = in_.channels / groups_;
        for (std::size_t p = 0; p < in_.pixels(); ++p)
            for (std::size_t c = group * width; c < (group + 1) * width; ++c)
                visit(p * in_.channels + c, by_value_ ? p * in_.channels + c : c);
    }

    Image in_;
    std::size_t groups_;
    bool by_value_;  // a scale and shift for each value, not for each channel
    Place place_;
    Floats mean_, inverse_;  // [examples][groups]
    Floats weight_sums_, bias_sums_;
};

}  // namespace

std::unique_ptr<Op> make_group_norm(const Image& in, std::size_t groups, Place place) {
    return std::make_unique<GroupNorm>(in, groups, false, place);
}
std::unique_ptr<Op> make_layer_norm(std::size_t size, Place place) {
    return std::make_unique<GroupNorm>(Image{1, 1, size}, 1, true, place);
}

}  // namespace fedhive::clients::direct
