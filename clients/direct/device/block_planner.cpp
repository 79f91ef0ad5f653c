#include "clients/direct/device/block_planner.h"

#include "aggregation/base/error.h"

#include <fmt/format.h>

#include <limits>

namespace fedhive::clients::direct::device {

Extent extent_of(const Shape& shape) {
    const auto side = [&](std::size_t i) { return static_cast<std::uint32_t>(shape[i]); };
    if (shape.size() == 3) return {side(0), side(1), side(2)};
    return flat(static_cast<std::uint32_t>(num_values(shape)));  // a sequence: position by position
}

Planner::Planner(const aggregation::Layout& layout, std::uint32_t inputs) : end_(inputs) {
    for (const aggregation::LayoutEntry& entry : layout.entries())
        offsets_[entry.name] = static_cast<std::uint32_t>(entry.offset);
}

void Planner::append(const std::vector<PlannedLayer>& planned) {
    for (const PlannedLayer& layer : planned) device_layers().at(layer.kind).append(*this, layer);
}

void Planner::append_one(Kind kind, Extent in, Extent out, const std::function<void(Layer&)>& describe) {
    Layer layer;
    layer.kind = kind;
    layer.in = in;
    layer.out = out;
    layer.in_at = at_;
    if (describe) describe(layer);
    layer.out_at = take(out.size());
    append_placed(layer);
}

void Planner::append_placed(const Layer& layer) {
    at_ = layer.out_at;
    layers.push_back(layer);
}

void Planner::append_sum(Extent in, Extent out, const std::function<void()>& path, const std::function<void()>& shortcut) {
    Layer begin, sum;
    begin.kind = Kind::ResidualBegin;
    sum.kind = shortcut ? Kind::ShortcutSum : Kind::ResidualSum;
    begin.in = begin.out = in;
    sum.in = sum.out = out;
    begin.in_at = begin.out_at = sum.other_at = at_;
    const std::size_t first = layers.size();
    layers.push_back(begin);
    path();
    const bool leaves_all = at_ == sum.other_at;  // then the sum is of what comes in and the shortcut's
    if (leaves_all && shortcut) {
        sum.kind = Kind::ResidualSum;
        shortcut();
    }
    sum.in_at = at_;
    if (sum.kind == Kind::ShortcutSum) {
        Layer copy = begin;
        copy.kind = Kind::ShortcutBegin;
        at_ = copy.out_at = layers[first].other_at = take(copy.out.size());
        layers.push_back(copy);
        shortcut();
        sum.other_at = at_;
    }
    at_ = sum.out_at = take(sum.out.size());
    if (sum.kind == Kind::ResidualSum) layers[first].other_at = at_;
    layers.push_back(sum);
}

std::uint32_t Planner::fork(Extent extent) {
    Layer begin, copy;
    begin.kind = Kind::ResidualBegin;
    copy.kind = Kind::ShortcutBegin;
    begin.in = begin.out = copy.in = copy.out = extent;
    begin.in_at = begin.out_at = copy.in_at = at_;
    copy.out_at = begin.other_at = take(extent.size());
    layers.push_back(begin);
    layers.push_back(copy);
    return copy.out_at;
}

std::uint32_t Planner::take(std::uint32_t floats) {
    if (floats > std::numeric_limits<std::int32_t>::max() - end_) throw ConfigError("a row of values is beyond 2^31 floats");
    end_ += floats;
    return end_ - floats;
}

void Planner::place_parameters(const PlannedLayer& planned, Layer& layer, const std::string& weight,
                               const std::string& bias) const {
    layer.weight = place_of(planned, weight);
    layer.biased = planned.find_tensor(bias) == nullptr ? 0 : 1;
    layer.bias = layer.biased != 0 ? place_of(planned, bias) : 0;
}

std::uint32_t Planner::place_of(const PlannedLayer& planned, const std::string& tensor) const {
    const Parameter* found = planned.find_tensor(tensor);
    FEDHIVE_CHECK(found != nullptr, "layer {} has no {}", planned.number, tensor);
    return offsets_.at(planned.name_of(*found));
}

}  // namespace fedhive::clients::direct::device
