// Places a model's layers in a row of values (block_network.h): the layers of the device's that compute each planned layer, and the
// offsets of their values and parameters.
#pragma once

#include "aggregation/memory/layout.h"
#include "clients/direct/device/layer_types.h"
#include "clients/models/layer_table.h"
#include "clients/models/model_plan.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::clients::direct::device {

class Planner;

/// A line of the table of layers.
struct DeviceLayer {
    LayerKind kind = LayerKind::Linear;

    /// Appends the layers of the device's that compute the planned one, none where it moves no values.
    void (*append)(Planner& planner, const PlannedLayer& planned) = nullptr;

    /// Names what blocks cannot compute of such a layer; empty: nothing. Null: they compute all that the host does.
    std::string_view (*lacks)(const PlannedLayer& layer) = nullptr;
};
const LayerTable<DeviceLayer>& device_layers();

Extent extent_of(const Shape& shape);

/// Values without an order of channels and pixels.
inline Extent flat(std::uint32_t size) { return {size, 1, 1}; }

class Planner {
public:
    /// inputs: values of an example
    Planner(const aggregation::Layout& layout, std::uint32_t inputs);

    void append(const std::vector<PlannedLayer>& planned);

    /// Appends a layer from the values at at() to values of its own, which `describe` completes.
    void append_one(Kind kind, Extent in, Extent out, const std::function<void(Layer&)>& describe = nullptr);
    void append_one(Kind kind, const PlannedLayer& planned, const std::function<void(Layer&)>& describe = nullptr) {
        append_one(kind, extent_of(planned.in), extent_of(planned.fit.out), describe);
    }
    /// Appends a layer whose output is at layer.out_at.
    void append_placed(const Layer& layer);

    /// path(x) + shortcut(x), each given by what it appends; null: x itself.
    void append_sum(Extent in, Extent out, const std::function<void()>& path, const std::function<void()>& shortcut);

    /// A copy of the values at at(), whose gradient is added to theirs. Returns its offset; at() stays.
    std::uint32_t fork(Extent extent);

    /// Offset of that many floats of a row.
    std::uint32_t take(std::uint32_t floats);

    void place_parameters(const PlannedLayer& planned, Layer& layer, const std::string& weight = "weight",
                          const std::string& bias = "bias") const;
    std::uint32_t place_of(const PlannedLayer& planned, const std::string& tensor) const;

    std::uint32_t next_drop() { return num_drops_++; }

    std::uint32_t at() const { return at_; }            // where the last layer's output is
    void go_to(std::uint32_t offset) { at_ = offset; }  // what follows reads there
    std::uint32_t end() const { return end_; }          // floats of a row

    std::vector<Layer> layers;

private:
    std::map<std::string, std::uint32_t> offsets_;
    std::uint32_t at_ = 0, end_;
    std::uint32_t num_drops_ = 0;
};

}  // namespace fedhive::clients::direct::device
