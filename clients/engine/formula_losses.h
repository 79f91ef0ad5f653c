// The loss of strategy.file (clients/tasks/output_loss.h) of a model that LibTorch runs: logits and features go to the formula on the host,
// and its gradients come back into LibTorch's backward pass. On a GPU each step waits for both copies.
#pragma once

#include "clients/engine/losses.h"
#include "clients/models/flat_model.h"
#include "clients/tasks/output_loss.h"

#include <memory>
#include <vector>

namespace fedhive::clients {

class FormulaLosses {
public:
    /// `loss` and `frozen`, as in FlatModel, must outlive it.
    /// Memory: a model for each other one of the loss.
    FormulaLosses(OutputLoss& loss, const ModelSpec& spec, aggregation::MemorySpace space, aggregation::ConstParamSpan frozen);

    /// See OutputLoss::is_on().
    bool is_on() const { return loss_.is_on(); }

    /// Takes over the other models of the client that trains next. global: [P], whose buffers count where such a model has none.
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

    /// The mean loss over the targets that count, as BatchLoss::mean(). targets: [B].
    MeanLoss mean(const AllAnswers& answers, const at::Tensor& targets, TargetShape target) const;

private:
    OutputLoss& loss_;
    std::vector<std::unique_ptr<FlatModel>> others_;
};

/// The model's outputs for examples; with `features`, also the inputs of its last layer with parameters.
FormulaLosses::Answers answers_of(const Classifier& model, const at::Tensor& examples, bool features);

}  // namespace fedhive::clients
