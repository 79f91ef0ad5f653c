#include "clients/direct/op.h"

#include <algorithm>

namespace fedhive::clients::direct {

void step(const Descent& descent, ParameterRange range, float* gradient) {
    using aggregation::MemorySpace;
    if (descent.from != nullptr) std::copy_n(descent.from + range.first, range.size, descent.parameters + range.first);
    if (descent.change != nullptr) (*descent.change)(range, gradient);
    descent.optimizer->step({descent.parameters + range.first, range.size, MemorySpace::Host},
                            {gradient, range.size, MemorySpace::Host}, range.first);
}

void Chain::reserve(std::size_t examples, std::size_t group) {
    values_.resize(ops_.size());
    for (std::size_t i = 0; i < ops_.size(); ++i) {
        ops_[i]->reserve(examples, group);
        values_[i].resize(examples * ops_[i]->outputs());
        Floats& gradients = gradients_[i % 2];
        if (i > 0) gradients.resize(std::max(gradients.size(), group * ops_[i]->inputs()));
    }
}

void Chain::begin(const Pass& pass) {
    for (const auto& op : ops_) {
        const ProfileScope scope(pass, op.get(), StepPhase::Forward);
        op->begin(pass);
    }
}

const float* Chain::forward(const Pass& pass, const float* x, ExampleRange rows) {
    for (std::size_t i = 0; i < ops_.size(); ++i) {
        float* y = values_[i].data() + rows.first * ops_[i]->outputs();
        const ProfileScope scope(pass, ops_[i].get(), StepPhase::Forward);
        ops_[i]->forward(pass, x, y, rows);
        x = y;
    }
    return x;
}

void Chain::begin_backward(const Pass& pass) {
    for (const auto& op : ops_) {
        const ProfileScope scope(pass, op.get(), StepPhase::DataGradient);
        op->begin_backward(pass);
    }
}

bool Chain::mixes_examples() const {
    return std::ranges::any_of(ops_, [](const auto& op) { return op->mixes_examples(); });
}

std::size_t Chain::first_trained() const {
    std::size_t first = 0;
    while (first < ops_.size() && !ops_[first]->is_trained()) ++first;
    return first;
}

/// ops_.size() if there is none.
std::size_t Chain::last_with_parameters() const {
    for (std::size_t i = ops_.size(); i-- > 0;)
        if (ops_[i]->has_parameters()) return i;
    return ops_.size();
}

const float* Chain::features_of(const float* x) const {
    const std::size_t last = last_with_parameters();
    return last == ops_.size() ? nullptr : last == 0 ? x : values_[last - 1].data();
}

std::size_t Chain::features() const {
    const std::size_t last = last_with_parameters();
    return last == ops_.size() ? 0 : ops_[last]->inputs();
}

void Chain::backward(const Pass& pass, const float* x, float* y_gradient, float* x_gradient, ExampleRange rows,
                     const float* features_gradient) {
    if (ops_.empty() && x_gradient != nullptr) std::copy_n(y_gradient, rows.count * inputs_, x_gradient);
    const std::size_t first = x_gradient == nullptr ? first_trained() : 0;
    const std::size_t tapped = features_gradient == nullptr ? ops_.size() : last_with_parameters();
    for (std::size_t i = ops_.size(); i-- > first;) {
        const Op& op = *ops_[i];
        Flow flow;
        flow.x = i == 0 ? x : values_[i - 1].data() + rows.first * op.inputs();
        flow.y = values_[i].data() + rows.first * op.outputs();
        flow.y_gradient = y_gradient;
        flow.x_gradient = i == first ? x_gradient : gradients_[i % 2].data();
        const ProfileScope scope(pass, &op, StepPhase::DataGradient);
        ops_[i]->backward(pass, flow, rows);
        y_gradient = flow.x_gradient;
        if (i != tapped || y_gradient == nullptr) continue;
        for (std::size_t f = 0; f < rows.count * op.inputs(); ++f) y_gradient[f] += features_gradient[f];
    }
}

void Chain::fused_parameters(std::vector<ParameterRange>& ranges) const {
    for (const auto& op : ops_) op->fused_parameters(ranges);
}

void Chain::end_backward(const Pass& pass) {
    for (const auto& op : ops_) {
        const ProfileScope scope(pass, op.get(), StepPhase::WeightGradient);
        op->end_backward(pass);
    }
}

}  // namespace fedhive::clients::direct
