// A model in the direct engine: its layers as operations, planned once. Images pass in groups of a few examples, so that an
// example's values are still cached in backward; flat features pass as a whole batch, so that each weight is read once.
//
//   examples [B][channels][height][width] ─▶ images, in groups ─▶ features, all at once ─▶ answers [B][outputs] ─▶ loss
//                    gradient [trainable] ◀─ images, in groups ◀─ features, all at once ◀─ gradient of answers
//
// B        examples of the batch
// P        floats of the model; the first `trainable` of them are trained
// Loss     class labels: softmax cross-entropy (nn.CrossEntropyLoss) or another one of clients/tasks/loss.h; numbers: mean
//          squared error (nn.MSELoss)
#pragma once

#include "aggregation/memory/layout.h"
#include "aggregation/memory/param_span.h"
#include "clients/direct/network_plan.h"
#include "clients/models/catalog.h"
#include "clients/tasks/evaluation_sums.h"
#include "clients/tasks/losses/terms.h"
#include "clients/tasks/output_loss.h"

namespace fedhive::clients::direct {

/// A batch in the host's memory.
struct Batch {
    const float* examples = nullptr;       // [size][inputs]
    const std::int64_t* labels = nullptr;  // [size]; null with numbers
    std::size_t size = 0;
    const float* numbers = nullptr;  // [size][outputs], in place of labels
    bool ignores = false;            // some labels may be kIgnored
    std::size_t counted = size;      // labels that are not kIgnored
};

class Network {
public:
    /// frozen: [F], the frozen parameters, which must outlive the network and stay as they are. Throws ConfigError for a model that misfit() names or that
    /// does not fit its data, Fault for frozen parameters of another size.
    explicit Network(const ModelSpec& spec, const Kernels& kernels = direct::kernels(),
                     aggregation::ConstParamSpan frozen = {});
    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;

    const aggregation::Layout& layout() const { return layout_; }
    std::size_t inputs() const { return inputs_; }
    std::size_t outputs() const { return plan_.features.outputs(); }  // a score for each class, or the numbers themselves

    /// Returns the batch's mean loss over its counted labels and writes its gradient; both are 0 if none counts.
    ///
    /// Shapes   parameters: [P]; gradient: [trainable], 0 where the layout has no tensor; moved: [P], in which the layers update the model's
    ///          buffers (BatchNorm statistics), may be `parameters`; null: buffers are not updated.
    /// Order    terms are added in the order of the batch: the same bits from the kernels of every processor.
    /// Memory   activations and their gradients, for the largest batch so far.
    double train(const float* parameters, float* gradient, const Batch& batch, std::uint64_t dropout_key,
                 float* moved = nullptr) {
        return run(parameters, gradient, batch, dropout_key, moved, nullptr);
    }

    /// train(), which also updates the model's buffers, then a step of the optimizer, with the bits of the two in sequence. Afterwards
    /// `gradient` has no defined values. Writes all of descent.parameters, [P], if descent.from is another model.
    double descend(const Descent& descent, float* gradient, const Batch& batch, std::uint64_t dropout_key);

    /// Evaluates the batch without dropout and adds its outcomes to `sums`, in chunks of `at_once` examples; the chunk size changes no bit.
    void evaluate(const float* parameters, const Batch& batch, EvaluationSums& sums, std::size_t at_once = 64);

    /// Writes the logits of a forward pass as in evaluate(), [B][classes], and to `features`, unless it is null, the input of the last layer
    /// with parameters, [B][features].
    void answer(const float* parameters, const Batch& batch, std::vector<float>& logits, std::vector<float>* features,
                std::size_t at_once = 64);

    /// Sets the loss of the following calls of train() and descend(). Class weights must outlive the network.
    void set_loss(const LossTerms& loss) { loss_ = loss; }

    /// Sets a formula as the loss in place of LossTerms; null: none. It must outlive the network. The features that it reads are the input of
    /// the last layer with parameters (clients/models/feature_layer.h).
    void set_loss(OutputLoss* formula) { formula_ = formula; }

    /// Sets the model, [P], whose buffers are used with a formula's other model if that has none. It must exist as long as the client trains.
    void set_global(const float* global) { global_ = global; }

    /// Profiles the calls that follow; null: stops. Changes no bit.
    void set_profiler(Profiler* profiler) { profiler_ = profiler; }

private:
    double run(const float* parameters, float* gradient, const Batch& batch, std::uint64_t dropout_key, float* moved,
               const Descent* descent);
    void reserve(std::size_t examples, std::size_t group);
    std::size_t group_of(const Pass& pass, std::size_t examples) const;
    const float* whole_model(aggregation::ConstParamSpan other);
    float* forward(const Pass& pass, const Batch& batch);
    double cross_entropy(float* answers, const Batch& part, float weight) const;
    double mean_loss(float* answers, const Batch& batch) const;
    double mean_of_rows(float* answers, const Batch& batch) const;
    double mean_by_formula(float* answers, const Batch& batch);
    void look_at_others(const Batch& batch);
    void add_outcomes(float* answers, const Batch& part, EvaluationSums& sums) const;

    const Kernels* kernels_;
    Profiler* profiler_ = nullptr;
    /// Another model's logits and features for the batch.
    struct OtherAnswers {
        Floats logits, features;
    };

    LossTerms loss_;
    OutputLoss* formula_ = nullptr;
    std::vector<OtherAnswers> others_;  // of the formula
    const float* global_ = nullptr;
    Floats other_model_;     // [P]: an other model without buffers, completed by those of the global model
    Floats moved_features_;  // the formula's gradient to the features, [B][features]
    aggregation::Layout layout_;
    aggregation::ConstParamSpan frozen_;
    std::size_t inputs_;
    NetworkPlan plan_;
    std::vector<ParameterRange> stepped_last_;  // trainable parameters outside all fused_parameters()
    bool mixes_examples_;                       // an operation of the images' chain mixes examples (op.h)
    std::size_t reserved_ = 0, reserved_group_ = 0;
    const float* between_ = nullptr;  // the features' input in the current batch, [B][…]
    Floats features_gradient_;        // its gradient
    Floats answers_;                  // [B][outputs]
};

}  // namespace fedhive::clients::direct
