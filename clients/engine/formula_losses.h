// A loss formula of strategy.file (clients/tasks/output_loss.h) for a model that LibTorch runs. Logits and features are copied to the host,
// where the formula is evaluated; its gradients go back into LibTorch's backward pass. On a GPU each step waits for both copies.
// B: examples of the batch; P: floats of the model.
#pragma once

#include "clients/engine/losses.h"
#include "clients/models/flat_model.h"
#include "clients/tasks/output_loss.h"

#include <memory>
#include <vector>

namespace fedhive::clients {

class FormulaLosses {
public:
    /// `loss` and `frozen` (as in FlatModel) must outlive this object.
    /// Memory: a copy of the model for each other model that the formula reads.
    FormulaLosses(OutputLoss& loss, const ModelSpec& spec, aggregation::MemorySpace space, aggregation::ConstParamSpan frozen);

    /// See OutputLoss::is_on().
    bool is_on() const { return loss_.is_on(); }

    /// Copies the other models of the client that trains next. global: [P], whose buffers are used with another model that has none.
    void begin(aggregation::ConstParamSpan global);

    /// A model's outputs for examples.
    struct Answers {
        at::Tensor logits;    // [B, classes] f32
        at::Tensor features;  // [B, features] f32; undefined if the formula does not read them
    };
    struct AllAnswers {
        Answers own;
        std::vector<Answers> others;
    };
    AllAnswers answers(const Classifier& model, const at::Tensor& examples) const;

    /// The mean loss over the counted targets, as BatchLoss::mean(). targets: [B].
    MeanLoss mean(const AllAnswers& answers, const at::Tensor& targets, TargetShape target) const;

private:
    OutputLoss& loss_;
    std::vector<std::unique_ptr<FlatModel>> others_;
};

/// The model's outputs for examples; with `features`, also the inputs of its last layer with parameters.
FormulaLosses::Answers answers_of(const Classifier& model, const at::Tensor& examples, bool features);

}  // namespace fedhive::clients
