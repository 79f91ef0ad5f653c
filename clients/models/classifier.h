// A model run by LibTorch: maps examples to one score per class, by the operations of its list of layers.
#pragma once

#include "clients/models/forward.h"
#include "clients/models/model_plan.h"

#include <memory>
#include <string>
#include <vector>

namespace fedhive::clients {

namespace exported {
class GraphNetwork;
}

/// A tensor's role in training; only Trained ones have a gradient.
enum class Holding : std::uint8_t { Trained, Frozen, Buffer };

/// A layer, or a ReLU and a pool that are fused.
struct Operation {
    Forward forward;                  // empty for a residual
    std::vector<at::Tensor> tensors;  // parameters, then buffers
    std::vector<Holding> holds;       // the role of each of `tensors`
    std::vector<Operation> residual;  // operations inside a residual
    std::vector<Operation> shortcut;  // operations of its shortcut
};

/// The model. It can be cut between its layers with parameters: a layer without parameters belongs to the one before it, or to
/// the first if none precedes. A graph of torch.export runs as a whole.
class Classifier {
public:
    /// Tensors of a list of layers are uninitialised until initialise(); those of a graph hold the file's values. view_frozen()
    /// sets the frozen ones. Throws as plan_model() or exported::GraphNetwork.
    explicit Classifier(const ModelSpec& spec);
    Classifier(const Classifier&) = delete;
    Classifier& operator=(const Classifier&) = delete;
    ~Classifier();

    /// examples: [B, channels, height, width] f32, normalised; returns logits [B, num_classes].
    at::Tensor forward(const at::Tensor& examples) const;

    /// Number of layers with parameters; a residual counts as one.
    std::size_t num_layers() const { return begins_.size() - 1; }

    /// Runs layers [first, last), with the parameterless layers that belong to them: x is the input of layer `first`.
    at::Tensor forward_layers(at::Tensor x, std::size_t first, std::size_t last) const;

    /// Shape of one example after the first `num_layers` layers, num_layers >= 1.
    const Shape& shape_after(std::size_t num_layers) const { return shapes_.at(num_layers - 1); }

    /// The parameters and buffers, in the order of model_layout().
    const std::vector<at::Tensor*>& tensors() const { return tensors_; }

    /// Makes the frozen tensors views of `values`, [F] in frozen_layout(), which must outlive the model and is never written.
    void view_frozen(aggregation::ConstParamSpan values);

    /// The frozen tensors in layers that also have a trained parameter.
    const std::vector<at::Tensor*>& frozen_beside_trained() const { return frozen_beside_trained_; }

    /// Draws all tensors with PyTorch's defaults from LibTorch's host generator, in the layout's order. Only for a list of
    /// layers without frozen tensors.
    void initialise();

    /// In training mode, the initial one, dropout acts, and batch norm uses the batch's statistics and updates its own.
    bool is_training() const { return training_; }
    void train(bool on = true) { training_ = on; }
    void eval() { train(false); }

private:
    at::Tensor run(const Operation& operation, const at::Tensor& x) const;

    std::vector<PlannedLayer> plan_;
    std::vector<Operation> operations_;
    std::vector<std::size_t> begins_;  // first operation of each layer with parameters, then the number of operations
    std::vector<Shape> shapes_;        // output of each layer with parameters
    std::vector<at::Tensor*> tensors_;
    std::vector<at::Tensor*> frozen_, frozen_beside_trained_;
    aggregation::Layout frozen_layout_;
    std::unique_ptr<exported::GraphNetwork> graph_;  // instead of operations_
    bool training_ = true;
};

}  // namespace fedhive::clients
