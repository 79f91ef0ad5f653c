// The direct engine's table of layer kinds: which layers of a kind it can compute, and the operation that computes them. An operation's file
// in ops/ has the lines of its kinds; layer_ops.cpp lists them.
#pragma once

#include "aggregation/memory/layout.h"
#include "clients/direct/ops.h"
#include "clients/models/layer_table.h"
#include "clients/models/model_plan.h"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace fedhive::clients::direct {

struct WinogradMemory;

/// Appends the operations of layers to chains. Numbers the dropout layers in the order of the list.
class Planner {
public:
    /// frozen: the layout of the frozen parameters
    Planner(const aggregation::Layout& layout, const aggregation::Layout& frozen, const Kernels& kernels);

    /// pixels: values are images stored [height][width][channels]; else flat features.
    void append(Chain& chain, std::span<const PlannedLayer> layers, bool pixels);

    TensorOffsets place_of(const PlannedLayer& layer) const;
    /// Of a weight that the layer must have, and a bias that it may have.
    TensorOffsets place_of(const PlannedLayer& layer, const std::string& weight, const std::string& bias) const;
    /// Offset of one of the layer's tensors, with kFrozen set if it is frozen. The layer must have the tensor.
    std::size_t place_of(const PlannedLayer& layer, const std::string& tensor) const;
    Drop next_drop(const PlannedLayer& layer) { return {layer.arguments.number("p"), num_drops_++}; }
    /// The dropout inside a layer with a key `dropout`, such as attention; its number is the first of `count` adjacent ones. A layer with
    /// probability 0 takes no numbers.
    Drop inner_drop(const PlannedLayer& layer, std::size_t count = 1) {
        const double p = layer.arguments.number("dropout");
        if (p == 0.0) return {};
        num_drops_ += static_cast<std::uint32_t>(count);
        return {p, num_drops_ - static_cast<std::uint32_t>(count)};
    }
    const Kernels& kernels() const { return kernels_; }
    const std::shared_ptr<WinogradMemory>& winograd_memory() const { return winograd_memory_; }

private:
    const Kernels& kernels_;
    std::map<std::string, std::size_t> offsets_;
    std::uint32_t num_drops_ = 0;
    std::shared_ptr<WinogradMemory> winograd_memory_;
};

/// Whether one of the layer's own tensors fills the L2 cache: it is read once for the whole batch, which the layer gets in one piece.
bool has_wide_tensor(const PlannedLayer& layer);

/// The arguments from which an operation is made.
struct Making {
    Planner& planner;
    const PlannedLayer& layer;
    std::span<const PlannedLayer> after;  // the following layers, the first of which the operation may compute, too
    bool pixels = false;                  // as Planner::append

    bool is_relu_next() const { return !after.empty() && after.front().kind == LayerKind::Relu; }
};

struct Made {
    std::unique_ptr<Op> op;  // null: the layer changes no value
    std::size_t fused = 0;   // layers of `after` that it computes too
};

/// A line of the table.
struct LayerOp {
    LayerKind kind = LayerKind::Linear;

    /// Names a layer of this kind that the engine cannot compute, "layer_norm over images"; empty if it can. Null: it computes all layers of
    /// this kind.
    std::string_view (*lacks)(const PlannedLayer& layer) = nullptr;
    Made (*make)(const Making& making) = nullptr;
};

const LayerTable<LayerOp>& layer_ops();

// Shapes and arguments of planned layers.

inline std::size_t size_of(const Shape& shape) { return static_cast<std::size_t>(num_values(shape)); }

/// The Image of a shape [channels, height, width]; of flat features, one pixel with that many channels.
inline Image image_of(const Shape& shape) {
    if (shape.size() == 1) return {1, 1, static_cast<std::size_t>(shape[0])};
    return {static_cast<std::size_t>(shape[1]), static_cast<std::size_t>(shape[2]), static_cast<std::size_t>(shape[0])};
}

inline std::size_t argument(const PlannedLayer& layer, const std::string& key) {
    return static_cast<std::size_t>(layer.arguments.integer(key));
}

/// Whether the layer takes [positions, features].
inline bool takes_sequence(const PlannedLayer& layer) { return layer.in.size() == 2; }

}  // namespace fedhive::clients::direct
