// A model as LibTorch runs it: examples in, one score per class out, by the operations that its list of layers comes to.
#pragma once

#include "clients/models/forward.h"
#include "clients/models/model_plan.h"

#include <memory>
#include <string>
#include <vector>

namespace fedhive::clients {

namespace exported {
class Network;
}

/// What a tensor is to training; only Trained ones have a gradient.
enum class Holding : std::uint8_t { Trained, Frozen, Buffer };

/// A layer, or a ReLU and a pool that are done as one.
struct Operation {
    Forward forward;                  // of a residual: none
    std::vector<at::Tensor> tensors;  // parameters, then buffers
    std::vector<Holding> holds;       // what each of them is
    std::vector<Operation> residual;  // the operations in it
    std::vector<Operation> shortcut;  // and in its shortcut
};

/// Between its layers with parameters it can be cut: what has none belongs to the one before it, what comes before all of them to the first. A
/// graph of torch.export is computed as a whole.
class Classifier {
public:
    /// Its tensors hold anything: initialise() draws them. Those of a graph hold the file's values. Frozen ones are set by view_frozen(). Throws as
    /// plan_model() or exported::Network.
    explicit Classifier(const ModelSpec& spec);
    Classifier(const Classifier&) = delete;
    Classifier& operator=(const Classifier&) = delete;
    ~Classifier();

    /// examples: [B, channels, height, width] f32, normalised; returns logits [B, num_classes].
    at::Tensor forward(const at::Tensor& examples) const;

    /// Layers with parameters, residuals as one each.
    std::size_t num_layers() const { return begins_.size() - 1; }

    /// Layers [first, last) alone, with what belongs to them: from what layer `first` takes to what layer `last - 1` gives.
    at::Tensor forward_layers(at::Tensor x, std::size_t first, std::size_t last) const;

    /// What the first `num_layers` of them make of one example, 1 at least.
    const Shape& shape_after(std::size_t num_layers) const { return shapes_.at(num_layers - 1); }

    /// The places of its parameters and buffers, in the order of model_layout().
    const std::vector<at::Tensor*>& tensors() const { return tensors_; }

    /// What is frozen lies there from now on, [F] as frozen_layout() has it; it must outlive the model, and is never written.
    void view_frozen(aggregation::ConstParamSpan values);

    /// Places of frozen tensors in layers of which another parameter is trained.
    const std::vector<at::Tensor*>& frozen_beside_trained() const { return frozen_beside_trained_; }

    /// As PyTorch does by default, from LibTorch's generator of the host; in the layout's order. Of a list of layers without frozen ones.
    void initialise();

    /// In training dropout acts, and batch norm takes the batch's statistics and moves its own; a model is built so.
    bool is_training() const { return training_; }
    void train(bool on = true) { training_ = on; }
    void eval() { train(false); }

private:
    at::Tensor run(const Operation& operation, const at::Tensor& x) const;

    std::vector<PlannedLayer> plan_;
    std::vector<Operation> operations_;
    std::vector<std::size_t> begins_;  // of each layer with parameters: its first operation; and the number of all
    std::vector<Shape> shapes_;        // what each of them gives
    std::vector<at::Tensor*> tensors_;
    std::vector<at::Tensor*> frozen_, frozen_beside_trained_;
    aggregation::Layout frozen_layout_;
    std::unique_ptr<exported::Network> graph_;  // in place of operations
    bool training_ = true;
};

}  // namespace fedhive::clients
