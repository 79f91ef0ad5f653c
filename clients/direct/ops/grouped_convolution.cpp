// Convolution in groups: the channels of each group are copied side by side and convolved as by a convolution of their own.
#include "clients/direct/ops/convolution.h"

#include <algorithm>

namespace fedhive::clients::direct {

namespace {

class GroupedConvolution final : public Op {
public:
    GroupedConvolution(const ConvolutionTerms& t, std::size_t groups)
        : Op(t.in.size(), t.out().size()), in_(t.in), out_(t.out()), groups_(groups) {
        const std::size_t in = t.in.channels / groups, out = t.channels / groups;
        for (std::size_t g = 0; g < groups; ++g) {
            ConvolutionTerms part = t;
            part.in.channels = in;
            part.channels = out;
            part.place.weight += g * out * in * t.kernel * t.kernel;
            if (part.place.bias != TensorOffsets::kNone) part.place.bias += g * out;
            parts_.push_back(uses_winograd(part) ? make_winograd_convolution(part) : make_dense_convolution(part));
        }
        x_.resize(parts_.front()->inputs());
        x_gradient_.resize(x_.size());
        y_.resize(parts_.front()->outputs());
        y_gradient_.resize(y_.size());
    }

    bool has_parameters() const override { return true; }
    void reserve(std::size_t, std::size_t) override {
        for (auto& part : parts_) part->reserve(1, 1);
    }
    void begin(const Pass& pass) override {
        for (auto& part : parts_) part->begin(pass);
    }

    void forward(const Pass& pass, const float* x, float* y, ExampleRange rows) override {
        for (std::size_t r = 0; r < rows.count; ++r)
            for (std::size_t g = 0; g < groups_; ++g) {
                take(x + r * inputs(), in_, g, x_);
                parts_[g]->forward(pass, x_.data(), y_.data(), {0, 1});
                give(y_, out_, g, y + r * outputs());
            }
    }

    void begin_backward(const Pass& pass) override {
        for (auto& part : parts_) part->begin_backward(pass);
    }

    /// A profiler sees both gradients as one: the parts are no operations of the plan.
    void backward(const Pass& pass, const Flow& flow, ExampleRange rows) override {
        Pass quiet = pass;
        quiet.profiler = nullptr;
        for (std::size_t r = 0; r < rows.count; ++r)
            for (std::size_t g = 0; g < groups_; ++g) {
                take(flow.x + r * inputs(), in_, g, x_);
                take(flow.y + r * outputs(), out_, g, y_);
                take(flow.y_gradient + r * outputs(), out_, g, y_gradient_);
                float* const to = flow.x_gradient != nullptr ? x_gradient_.data() : nullptr;
                parts_[g]->backward(quiet, {x_.data(), y_.data(), y_gradient_.data(), to}, {0, 1});
                if (to != nullptr) give(x_gradient_, in_, g, flow.x_gradient + r * inputs());
            }
    }

    void end_backward(const Pass& pass) override {
        for (auto& part : parts_) part->end_backward(pass);
    }

private:
    /// The channels of group g of an image, side by side; and back.
    void take(const float* image, const Image& shape, std::size_t g, Floats& to) const {
        const std::size_t width = shape.channels / groups_;
        for (std::size_t p = 0; p < shape.pixels(); ++p)
            std::copy_n(image + p * shape.channels + g * width, width, to.data() + p * width);
    }
    void give(const Floats& from, const Image& shape, std::size_t g, float* image) const {
        const std::size_t width = shape.channels / groups_;
        for (std::size_t p = 0; p < shape.pixels(); ++p)
            std::copy_n(from.data() + p * width, width, image + p * shape.channels + g * width);
    }

    Image in_, out_;
    std::size_t groups_;
    std::vector<std::unique_ptr<Op>> parts_;        // of each group
    Floats x_, x_gradient_{}, y_{}, y_gradient_{};  // one group of one example
};

}  // namespace

std::unique_ptr<Op> make_grouped_convolution(const ConvolutionTerms& terms, std::size_t groups) {
    return std::make_unique<GroupedConvolution>(terms, groups);
}

}  // namespace fedhive::clients::direct
