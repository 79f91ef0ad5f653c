// A model that the direct engine trains: its list of layers as operations, planned once. Images go through it a few examples at a time, so that
// what one of them leaves is still near when it comes back; features in a row go through it as a whole batch, so that each weight is read once.
//
//   examples [B][channels][height][width] ─▶ images, in groups ─▶ features, all at once ─▶ answers [B][outputs] ─▶ loss
//                    gradient [trainable] ◀─ images, in groups ◀─ features, all at once ◀─ gradient of answers
//
// Loss     of a class softmax and cross-entropy, of numbers the squared error, its mean over an example's numbers: nn.CrossEntropyLoss, nn.MSELoss
#pragma once

#include "aggregation/memory/layout.h"
#include "clients/direct/plan.h"
#include "clients/models/catalog.h"

#include <string>

namespace fedhive::clients::direct {

/// Why this engine cannot train the model: the layer, in words that follow "the direct engine has no "; empty where it can.
std::string misfit(const ModelSpec& spec);

/// A batch in the host's memory.
struct Batch {
    const float* examples = nullptr;       // [size][inputs]
    const std::int64_t* labels = nullptr;  // [size]; null where numbers are told
    std::size_t size = 0;
    const float* numbers = nullptr;  // [size][outputs], in place of labels
    bool ignores = false;            // some labels may be kIgnored
    std::size_t counted = size;      // labels that are not
};

class Network {
public:
    /// Throws ConfigError for a model that misfit() names or that does not fit its data.
    explicit Network(const ModelSpec& spec, const Kernels& kernels = direct::kernels());
    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;

    const aggregation::Layout& layout() const { return layout_; }
    std::size_t inputs() const { return inputs_; }
    std::size_t outputs() const { return plan_.features.outputs(); }  // a score for each class, or the numbers themselves

    /// Mean loss of the batch, over its counted labels, and its gradient, written; both 0 where none counts.
    ///
    /// Shapes   parameters: [P]; gradient: [trainable], 0 where the layout has no tensor.
    /// Order    the batch's, whatever the processor: the same bits from every kernel.
    /// Memory   of the largest batch so far: what goes between the layers, twice.
    double train(const float* parameters, float* gradient, const Batch& batch, std::uint64_t dropout_key) {
        return run(parameters, gradient, batch, dropout_key, nullptr);
    }

    /// The same and a step of the optimiser along it, with the bits of one after the other; `gradient` may hold anything afterwards.
    double descend(const Descent& descent, float* gradient, const Batch& batch, std::uint64_t dropout_key);

    struct Quality {
        double loss_sum = 0.0;
        double absolute_sum = 0.0;  // of numbers alone: over the examples, of the mean absolute error
        std::size_t correct = 0;    // of classes alone, as the next
        std::size_t among_five = 0;
        std::size_t ignored = 0;
    };
    /// Without dropout, in parts of `at_once` examples, which change nothing.
    Quality evaluate(const float* parameters, const Batch& batch, std::size_t at_once = 64);

    /// Told of each section of what follows; null: nobody is. It changes no bit.
    void set_profiler(Profiler* profiler) { profiler_ = profiler; }

private:
    double run(const float* parameters, float* gradient, const Batch& batch, std::uint64_t dropout_key, const Descent* descent);
    void reserve(std::size_t examples);
    float* forward(const Pass& pass, const Batch& batch);
    double cross_entropy(float* answers, const Batch& part, float weight) const;
    double mean_loss(float* answers, const Batch& batch) const;
    void judge(float* answers, const Batch& part, Quality& quality) const;

    const Kernels* kernels_;
    Profiler* profiler_ = nullptr;
    aggregation::Layout layout_;
    std::size_t inputs_;
    Plan plan_;
    std::vector<Range> stepped_last_;  // what no operation steps itself
    std::size_t reserved_ = 0;
    const float* between_ = nullptr;  // what goes from images to features, of the batch in hand, [B][…]
    Floats features_gradient_;        // of that
    Floats answers_;                  // [B][outputs]
};

}  // namespace fedhive::clients::direct
