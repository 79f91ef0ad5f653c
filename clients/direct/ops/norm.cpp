// Group norm over an image's channels, with a fused ReLU; over flat features and with one group it is layer norm.
#include "clients/direct/planner.h"
#include "clients/direct/shared_rules.h"

#include <algorithm>
#include <cmath>

namespace fedhive::clients::direct {

namespace {

class GroupNorm final : public Op {
public:
    GroupNorm(const Image& in, std::size_t groups, bool relu, TensorOffsets place)
        : Op(in.size(), in.size()),
          in_(in),
          groups_(groups),
          relu_(relu),
          place_(place),
          sums_(in.channels),
          along_(in.channels),
          channel_mean_(in.channels),
          first_(in.channels),
          second_(in.channels),
          third_(in.channels) {}

    bool has_parameters() const override { return true; }
    void reserve(std::size_t examples, std::size_t) override {
        mean_.resize(examples * groups_);
        inverse_.resize(examples * groups_);
    }

    void forward(const Pass& pass, const float* x, float* y, ExampleRange rows) override {
        const float* weight = pass.values(place_.weight);
        for (std::size_t r = 0; r < rows.count; ++r, x += inputs(), y += inputs()) {
            float *mean = mean_.data() + (rows.first + r) * groups_, *inverse = inverse_.data() + (rows.first + r) * groups_;
            ChannelSums sums{.x = x, .pixels = in_.pixels(), .channels = in_.channels, .sums = sums_.data()};
            pass.kernels->channel_sums(sums);
            for (std::size_t g = 0; g < groups_; ++g) mean[g] = static_cast<float>(of_group(sums_, g) / size_of_group());
            spread(mean);
            sums.mean = channel_mean_.data();
            pass.kernels->channel_sums(sums);
            for (std::size_t g = 0; g < groups_; ++g)
                inverse[g] = static_cast<float>(1.0 / std::sqrt(of_group(sums_, g) / size_of_group() + shared::kNormEpsilon));
            for_each_channel([&](std::size_t g, std::size_t c) { first_[c] = inverse[g] * weight[c]; });
            pass.kernels->norm_rows({.x = x,
                                     .mean = channel_mean_.data(),
                                     .scale = first_.data(),
                                     .shift = pass.values(place_.bias),
                                     .y = y,
                                     .pixels = in_.pixels(),
                                     .channels = in_.channels,
                                     .relu = relu_});
        }
    }

    void begin_backward(const Pass&) override {
        weight_sums_.assign(in_.channels, 0.0F);
        bias_sums_.assign(in_.channels, 0.0F);
    }

    void backward(const Pass& pass, const Flow& flow, ExampleRange rows) override {
        for (std::size_t r = 0; r < rows.count; ++r) {
            const std::size_t at = r * inputs();
            const float *mean = mean_.data() + (rows.first + r) * groups_,
                        *inverse = inverse_.data() + (rows.first + r) * groups_;
            const float* y = relu_ ? flow.y + at : nullptr;
            spread(mean);
            pass.kernels->norm_sums({.x = flow.x + at,
                                     .gradient = flow.y_gradient + at,
                                     .y = y,
                                     .mean = channel_mean_.data(),
                                     .pixels = in_.pixels(),
                                     .channels = in_.channels,
                                     .sums = sums_.data(),
                                     .along = along_.data()});
            for_each_channel([&](std::size_t g, std::size_t c) {
                along_[c] *= static_cast<double>(inverse[g]);
                weight_sums_[c] += static_cast<float>(along_[c]);
                bias_sums_[c] += static_cast<float>(sums_[c]);
            });
            if (flow.x_gradient == nullptr) continue;
            find_factors(pass.values(place_.weight), inverse);
            pass.kernels->norm_back({.x = flow.x + at,
                                     .gradient = flow.y_gradient + at,
                                     .y = y,
                                     .mean = channel_mean_.data(),
                                     .of_gradient = first_.data(),
                                     .of_value = second_.data(),
                                     .constant = third_.data(),
                                     .x_gradient = flow.x_gradient + at,
                                     .pixels = in_.pixels(),
                                     .channels = in_.channels});
        }
    }

    void end_backward(const Pass& pass) override {
        if (float* to = pass.gradient_of(place_.weight)) std::copy(weight_sums_.begin(), weight_sums_.end(), to);
        if (float* to = pass.gradient_of(place_.bias)) std::copy(bias_sums_.begin(), bias_sums_.end(), to);
    }

private:
    /// dx = inverse · (weight · g − mean(weight · g) − n · mean(weight · g · n)) with n = (x − mean) · inverse, means over a
    /// group.
    void find_factors(const float* weight, const float* inverse) {
        for_each_channel([&](std::size_t, std::size_t c) {
            sums_[c] *= static_cast<double>(weight[c]);
            along_[c] *= static_cast<double>(weight[c]);
        });
        for (std::size_t g = 0; g < groups_; ++g) {
            const auto scale = static_cast<double>(inverse[g]);
            const auto of_value = static_cast<float>(-scale * scale * of_group(along_, g) / size_of_group());
            const auto constant = static_cast<float>(-scale * of_group(sums_, g) / size_of_group());
            const std::size_t width = in_.channels / groups_;
            std::fill_n(second_.begin() + static_cast<std::ptrdiff_t>(g * width), width, of_value);
            std::fill_n(third_.begin() + static_cast<std::ptrdiff_t>(g * width), width, constant);
        }
        for_each_channel([&](std::size_t g, std::size_t c) { first_[c] = inverse[g] * weight[c]; });
    }

    /// Groups have equal sizes.
    double size_of_group() const { return static_cast<double>(inputs()) / static_cast<double>(groups_); }

    /// Adds up the sums of a group's channels in ascending order.
    double of_group(const std::vector<double>& of_channels, std::size_t group) const {
        const std::size_t width = in_.channels / groups_;
        double sum = 0.0;
        for (std::size_t c = group * width; c < (group + 1) * width; ++c) sum += of_channels[c];
        return sum;
    }

    template <typename Visit>
    void for_each_channel(const Visit& visit) const {
        const std::size_t width = in_.channels / groups_;
        for (std::size_t g = 0; g < groups_; ++g)
            for (std::size_t c = g * width; c < (g + 1) * width; ++c) visit(g, c);
    }

    void spread(const float* mean) {
        for_each_channel([&](std::size_t g, std::size_t c) { channel_mean_[c] = mean[g]; });
    }

    Image in_;
    std::size_t groups_;
    bool relu_;
    TensorOffsets place_;
    Floats mean_, inverse_;                         // [examples][groups]
    std::vector<double> sums_, along_;              // [channels], of the current example
    Floats channel_mean_, first_, second_, third_;  // [channels], likewise
    Floats weight_sums_, bias_sums_;                // [channels]
};

}  // namespace

LayerOp group_norm_op() {
    return {.kind = LayerKind::GroupNorm, .make = [](const Making& m) {
                const bool relu = m.is_relu_next();
                return Made{std::make_unique<GroupNorm>(image_of(m.layer.in), argument(m.layer, "groups"), relu,
                                                        m.planner.place_of(m.layer)),
                            relu ? 1U : 0U};
            }};
}

/// Over all features, each with its scale and shift.
LayerOp layer_norm_op() {
    return {.kind = LayerKind::LayerNorm,
            .lacks = [](const PlannedLayer& layer) -> std::string_view {
                return layer.in.size() == 3 ? "layer_norm over images" : "";
            },
            .make =
                [](const Making& m) {
                    if (m.layer.arguments.flag("each_position"))
                        return Made{make_position_norm(static_cast<std::size_t>(m.layer.in[0]),
                                                       static_cast<std::size_t>(m.layer.in[1]), m.planner.place_of(m.layer))};
                    return Made{
                        std::make_unique<GroupNorm>(Image{1, 1, size_of(m.layer.in)}, 1, false, m.planner.place_of(m.layer))};
                }};
}

}  // namespace fedhive::clients::direct
